package io.rdmashuffle.verbs;

/**
 * Why this process has no RDMA.
 *
 * @param step the first thing that is missing; those before it are there
 * @param cause what was found, one line
 * @param remedy what helps, one line
 */
public record Unavailability(Step step, String cause, String remedy) {

    /** What is needed, in the order in which it is looked for. */
    public enum Step {
        /** Our own library, out of the jar. */
        NATIVE_LIBRARY,
        /** libibverbs and librdmacm. */
        RDMA_LIBRARIES,
        /** The kernel's connection manager, /dev/infiniband/rdma_cm. */
        CONNECTION_MANAGER,
        /** A device that this process can open. */
        DEVICE
    }

    /** One line for people. */
    @Override
    public String toString() {
        return cause + ": " + remedy;
    }
}
