package io.rdmashuffle.core.metrics;

/** What is counted in each process, besides the fallbacks by reason. */
public enum Counter {
    /** Bytes of blocks delivered by RDMA_READ. */
    RDMA_BYTES,
    /** Blocks delivered by RDMA_READ. */
    RDMA_BLOCKS,
    /** READ work requests posted for blocks. */
    RDMA_READS,
    /** Bytes of remote blocks delivered by the engine's own client. */
    TCP_BYTES,
    /** Remote blocks delivered by the engine's own client. */
    TCP_BLOCKS,
    /** Map outputs published. */
    PUBLISHED_OUTPUTS,
    /** Bytes of map outputs published. */
    PUBLISHED_BYTES,
    /** Nanoseconds spent mapping and registering map outputs. */
    REGISTRATION_NANOS,
    /** Connections established as a reader. */
    CONNECTIONS,
    /** Connection requests refused as an owner. */
    REFUSED_CONNECTIONS
}
