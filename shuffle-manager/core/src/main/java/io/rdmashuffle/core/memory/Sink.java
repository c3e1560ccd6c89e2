package io.rdmashuffle.core.memory;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A piece of registered memory that READs land in. Reference-counted: it starts with one reference, which belongs to whoever
 * allocated it, and goes back to its pool with the last. Any thread.
 */
public final class Sink {

    private final SinkPool pool;
    private final RegisteredMemory memory;
    /** What {@link #view} is cut from, as each view from native code would be a JNI call; the least of capacity and 2 GiB. */
    private final ByteBuffer bytes;

    private final AtomicInteger references = new AtomicInteger();

    Sink(SinkPool pool, RegisteredMemory memory) {
        this.pool = pool;
        this.memory = memory;
        this.bytes = memory.memory().buffer(0, (int) Math.min(capacityBytes(), Integer.MAX_VALUE));
    }

    public long address() {
        return memory.memory().address();
    }

    public int lkey() {
        return memory.region().lkey();
    }

    public long capacityBytes() {
        return memory.memory().lengthBytes();
    }

    /** A view without ownership: valid while a reference is held. */
    public ByteBuffer view(long offset, int lengthBytes) {
        return offset + lengthBytes <= bytes.capacity()
                ? bytes.slice((int) offset, lengthBytes)
                : memory.memory().buffer(offset, lengthBytes);
    }

    public void retain() {
        if (references.getAndIncrement() <= 0) {
            throw new IllegalStateException("sink used after its last release");
        }
    }

    public void release() {
        int left = references.decrementAndGet();
        if (left == 0) {
            pool.giveBack(this);
        } else if (left < 0) {
            throw new IllegalStateException("sink released more often than retained");
        }
    }

    void lend() {
        references.set(1);
    }

    void destroy() {
        memory.close();
    }
}
