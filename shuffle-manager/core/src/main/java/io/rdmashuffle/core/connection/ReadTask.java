package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.metrics.FallbackReason;

/**
 * READs that belong together: they land in one sink and end together, either all done or failed. The connection only borrows the
 * sink; it says done or failed exactly once, and from then on nothing writes into the sink. Loop thread only.
 */
public interface ReadTask {

    /** Number of READs, at least 1. */
    int size();

    long localAddress(int read);

    int lkey();

    long remoteAddress(int read);

    int rkey(int read);

    /** Bytes, at least 1 and at most what the device takes in one message. */
    int lengthBytes(int read);

    /**
     * Null for registered map outputs. Otherwise the owner has to stage the bytes first: {@link #rkey} then names one of these map
     * outputs by its index, {@link #remoteAddress} is an offset into its data file, and the local addresses go on from the first.
     */
    default StagedOutputs stagedOutputs() {
        return null;
    }

    /** Map outputs of one shuffle that are not registered. */
    record StagedOutputs(int shuffleId, long[] mapIds) {}

    void onDone();

    void onFailed(FallbackReason reason, String detail);
}
