package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.memory.Sink;

/** One READ that fills a sink from its beginning; what becomes of it is left to its kinds. Loop thread only. */
public abstract class SingleRead implements ReadTask {

    private final Sink sink;
    private final long remoteAddress;
    private final int rkey;
    private final int lengthBytes;

    /**
     * @param sink borrowed until the outcome
     * @param lengthBytes at least 1 and at most what the device takes in one message
     */
    protected SingleRead(Sink sink, long remoteAddress, int rkey, int lengthBytes) {
        this.sink = sink;
        this.remoteAddress = remoteAddress;
        this.rkey = rkey;
        this.lengthBytes = lengthBytes;
    }

    /** Where the bytes land. */
    public final Sink sink() {
        return sink;
    }

    @Override
    public final int size() {
        return 1;
    }

    @Override
    public final long localAddress(int read) {
        return sink.address();
    }

    @Override
    public final int lkey() {
        return sink.lkey();
    }

    @Override
    public final long remoteAddress(int read) {
        return remoteAddress;
    }

    @Override
    public final int rkey(int read) {
        return rkey;
    }

    @Override
    public final int lengthBytes(int read) {
        return lengthBytes;
    }
}
