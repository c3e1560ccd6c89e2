package io.rdmashuffle.verbs;

/**
 * An RDMA device and the port of it that is used (for {@link Rdma#devices}: its first active port, else its first).
 *
 * @param name kernel name, such as mlx5_0 or rxe0
 * @param transport wire protocol
 * @param linkLayer what the port runs on; {@link Transport#IB} over {@link LinkLayer#ETHERNET} is RoCE
 * @param portActive whether the port can carry data now
 * @param maxQp most queue pairs, hence connections
 * @param maxQpWr most outstanding work requests of a queue pair
 * @param maxCqe most entries of a completion queue
 * @param maxMr most memory regions
 * @param maxMrBytes largest memory region
 * @param maxSge most scatter/gather elements of a work request
 * @param maxReadDepthOut most READs a connection may have under way as initiator (max_qp_init_rd_atom)
 * @param maxReadDepthIn most READs a connection may serve at once as responder (max_qp_rd_atom)
 * @param maxMessageBytes largest READ; longer ones must be split
 * @param activeMtuBytes path MTU of the port: 256 to 4096
 * @param odp whether READs from on-demand-paged regions work ({@link Access#ON_DEMAND})
 */
public record RdmaDevice(
        String name,
        Transport transport,
        LinkLayer linkLayer,
        boolean portActive,
        int maxQp,
        int maxQpWr,
        int maxCqe,
        int maxMr,
        long maxMrBytes,
        int maxSge,
        int maxReadDepthOut,
        int maxReadDepthIn,
        long maxMessageBytes,
        int activeMtuBytes,
        boolean odp) {

    /** Wire protocol of a device. */
    public enum Transport {
        /** InfiniBand, and RoCE too. */
        IB,
        IWARP,
        OTHER
    }

    /** What a port runs on. */
    public enum LinkLayer {
        UNSPECIFIED,
        INFINIBAND,
        ETHERNET
    }
}
