package io.rdmashuffle.core.metrics;

/** What is counted in each process, besides the fallbacks by reason. */
public enum Counter {
    RDMA_BYTES("bytes of blocks delivered by RDMA_READ"),
    RDMA_BLOCKS("blocks delivered by RDMA_READ"),
    DIRECT_BYTES("of them, bytes read from pinned map outputs"),
    DIRECT_BLOCKS("of them, blocks read from pinned map outputs"),
    ODP_BYTES("of them, bytes read from map outputs registered for on-demand paging"),
    ODP_BLOCKS("of them, blocks read from map outputs registered for on-demand paging"),
    STAGED_BYTES("of them, bytes that their owner staged"),
    STAGED_BLOCKS("of them, blocks that their owner staged"),
    RDMA_READS("READ work requests posted for blocks"),
    TCP_BYTES("bytes of remote blocks delivered by the engine's own client"),
    TCP_BLOCKS("remote blocks delivered by the engine's own client"),
    PUBLISHED_OUTPUTS("map outputs published"),
    PUBLISHED_BYTES("bytes of map outputs published"),
    WITHDRAWN_SHUFFLES("shuffles whose map outputs were deregistered to make room for others"),
    REGISTRATION_NANOS("nanoseconds spent mapping and registering map outputs"),
    PUBLISH_NANOS("nanoseconds map tasks took to publish their outputs, registration included"),
    CONNECTIONS("connections established as a reader"),
    QUARANTINES("times that an owner was put into quarantine"),
    REFUSED_CONNECTIONS("connection requests refused as an owner"),
    REFUSED_REQUESTS("requests of readers to stage bytes that were refused"),
    REFUSED_MESSAGES("messages to the driver's directory that made no sense");

    private final String meaning;

    Counter(String meaning) {
        this.meaning = meaning;
    }

    /** One phrase with the unit, for reports and documentation. */
    public String meaning() {
        return meaning;
    }
}
