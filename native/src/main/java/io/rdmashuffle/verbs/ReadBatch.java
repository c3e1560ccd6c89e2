package io.rdmashuffle.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * A reusable list of RDMA READs to post with one native call. The layout is that of {@code struct rs_read} in
 * rs_verbs.h. Not thread-safe.
 */
public final class ReadBatch {
    private static final int WR_ID = 0;
    private static final int LOCAL_ADDRESS = WR_ID + Long.BYTES;
    private static final int REMOTE_ADDRESS = LOCAL_ADDRESS + Long.BYTES;
    private static final int LKEY = REMOTE_ADDRESS + Long.BYTES;
    private static final int RKEY = LKEY + Integer.BYTES;
    private static final int LENGTH_BYTES = RKEY + Integer.BYTES;
    private static final int SIGNALED = LENGTH_BYTES + Integer.BYTES;
    static final int STRIDE = SIGNALED + Integer.BYTES;

    private final ByteBuffer buffer;
    private final int capacity;
    private int size;

    /** @param capacity most READs it can hold, at least 1 */
    public ReadBatch(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("capacity " + capacity);
        }
        this.capacity = capacity;
        this.buffer =
                ByteBuffer.allocateDirect(Math.multiplyExact(capacity, STRIDE)).order(ByteOrder.nativeOrder());
    }

    /** Forgets all READs. */
    public void clear() {
        size = 0;
    }

    /** READs added since the last {@link #clear}. */
    public int size() {
        return size;
    }

    /** Most READs it can hold. */
    public int capacity() {
        return capacity;
    }

    /**
     * Adds a READ of remote memory into local memory.
     *
     * @param wrId comes back in the completion, at least 0: negative ones are receives
     * @param localAddress where the bytes land, within a region with {@link Access#LOCAL_WRITE}
     * @param lkey the local region's {@link MemoryRegion#lkey}
     * @param remoteAddress where the bytes lie in the peer, within a region with {@link Access#REMOTE_READ}
     * @param rkey the remote region's {@link MemoryRegion#rkey}
     * @param lengthBytes at least 1, at most the device's {@link RdmaDevice#maxMessageBytes}
     * @param signaled whether its success is reported; a failure always is. A signaled READ's success vouches for all
     *     posted before it on the same connection. Slots of the send queue are freed only by reported completions
     * @throws IllegalStateException when full
     */
    public void add(
            long wrId, long localAddress, int lkey, long remoteAddress, int rkey, int lengthBytes, boolean signaled) {
        if (size == capacity) {
            throw new IllegalStateException("batch is full: " + capacity);
        }
        if (lengthBytes < 1) {
            throw new IllegalArgumentException("length " + lengthBytes);
        }
        int at = size * STRIDE;
        buffer.putLong(at + WR_ID, wrId);
        buffer.putLong(at + LOCAL_ADDRESS, localAddress);
        buffer.putLong(at + REMOTE_ADDRESS, remoteAddress);
        buffer.putInt(at + LKEY, lkey);
        buffer.putInt(at + RKEY, rkey);
        buffer.putInt(at + LENGTH_BYTES, lengthBytes);
        buffer.putInt(at + SIGNALED, signaled ? 1 : 0);
        size++;
    }

    /** The buffer to hand to the native call, after checking that the READs asked for exist. */
    ByteBuffer checked(int from, int count) {
        Objects.checkFromIndexSize(from, count, size);
        return buffer;
    }
}
