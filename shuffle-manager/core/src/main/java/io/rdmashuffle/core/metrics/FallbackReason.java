package io.rdmashuffle.core.metrics;

/** The closed list of whys: each block that is not read over RDMA, and each map output that is not published, has one. */
public enum FallbackReason {
    /** {@code mode=off}. */
    MODE_OFF("RDMA is switched off"),
    /** This process has no usable RDMA: no library, no device, no permission, no memlock. */
    UNAVAILABLE("no usable RDMA in this process"),
    /** The engine is set to encrypt its connections, which RDMA cannot do. */
    ENCRYPTION("encrypted connections are wanted"),
    /** A kind of block that only the engine's own client can read, e.g. a push-merged chunk. */
    UNSUPPORTED_BLOCK("a kind of block that is not served over RDMA"),
    /** The block is above the engine's fetch-to-disk limit or above the sink pool. */
    TOO_LARGE("block too large to be read into memory"),
    /** The owner has not published the map output, or serves none over RDMA. */
    NOT_PUBLISHED("map output not published by this owner"),
    /** The directory (Spark's driver, MapReduce's NodeManager) did not answer in time or refused. */
    DIRECTORY_UNREACHABLE("the directory of map outputs did not answer"),
    /** No connection to the owner could be made. */
    CONNECT_FAILED("no RDMA connection to the owner"),
    /** The owner refused the connection: wrong application, wrong incarnation, or no resources. */
    CONNECT_REJECTED("the owner refused the RDMA connection"),
    /** A connection to the owner failed a short while ago. */
    QUARANTINED("RDMA to this owner failed recently"),
    /** As many owners as allowed are being read from. */
    CONNECTION_CAP("all RDMA connections this process may have are in use"),
    /** An established connection was lost. */
    CONNECTION_LOST("RDMA connection lost"),
    /** A READ completed with an error. */
    READ_FAILED("a READ completed with an error"),
    /** READs made no progress in time. */
    READ_TIMEOUT("READs made no progress in time"),
    /** The offsets read from the owner contradict the published length. */
    BAD_OFFSETS("offsets of the map output make no sense"),
    /** The bytes of a block did not decode: the engine asks for it again, or gives its map output up. */
    CORRUPT("the bytes read did not decode"),
    /** The owner could not stage a map output that is not registered. */
    STAGING_REFUSED("the owner could not stage the map output"),
    /** No sink memory became free in time. */
    SINK_EXHAUSTED("no sink memory became free in time"),
    /** A block could not be written to the engine's temporary file. */
    DOWNLOAD_FAILED("a block could not be written to its temporary file"),
    /** The transport was closed with the process. */
    CLOSED("the RDMA transport is closed"),
    /** Map side: the pinned budget is used up. */
    OVER_BUDGET("the pinned budget is used up"),
    /** Map side: the file could not be mapped or registered. */
    REGISTRATION_FAILED("map output could not be registered"),
    /** Map side: the directory did not confirm the publication. */
    PUBLISH_FAILED("the directory did not confirm the publication");

    private final String meaning;

    FallbackReason(String meaning) {
        this.meaning = meaning;
    }

    /** One phrase for logs and reports. */
    public String meaning() {
        return meaning;
    }
}
