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

    void onDone();

    void onFailed(FallbackReason reason, String detail);
}
