package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.connection.Owner;

/** What executors and the driver's directory say to each other. Encoded by {@link MessageCodec}; keys and secrets never in toString. */
public sealed interface Message {

    /**
     * An executor introduces itself, or a service that serves for it when it leaves; answered by {@link Welcome}.
     *
     * @param owner where its map outputs are read, under which executor's name; null when it has no RDMA
     * @param executorId the engine's name of the executor, or another name for a service
     * @param incarnation identity of this life of the executor; what it publishes and reports bears it
     * @param device name of its RDMA device; empty when it has none
     * @param cause why it has no RDMA; empty when it has
     */
    record Hello(String executorId, long incarnation, Owner owner, String device, String cause) implements Message {}

    /** The application's secret, for the proofs of connections. */
    record Welcome(byte[] secret) implements Message {
        @Override
        public String toString() {
            return "Welcome";
        }
    }

    /** A map output can be read from now on; answered by {@link Ack}. */
    record Publish(int shuffleId, long incarnation, MapOutputLocation location) implements Message {}

    /** A map output cannot be read any more. Not answered. */
    record Withdraw(int shuffleId, long incarnation, long mapId) implements Message {}

    /** The map outputs that an owner has of a shuffle, and will have, are {@link Placement#STAGED} from now on. Not answered. */
    record Unpin(int shuffleId, long incarnation) implements Message {}

    /** Whether the directory did what was asked. */
    record Ack(boolean accepted) implements Message {}

    /** Where are the map outputs of a shuffle? Answered by {@link Locations}. */
    record Locate(int shuffleId) implements Message {}

    /** All published map outputs of a shuffle. */
    record Locations(LocationTable outputs) implements Message {}

    /** The counters of an executor since its start, as {@link io.rdmashuffle.core.metrics.Snapshot}. Not answered. */
    record Report(long incarnation, long[] counters) implements Message {}
}
