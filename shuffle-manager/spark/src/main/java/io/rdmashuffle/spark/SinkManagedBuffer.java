package io.rdmashuffle.spark;

import io.netty.buffer.Unpooled;
import io.rdmashuffle.core.memory.Sink;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.util.ByteBufferInputStream;

/**
 * A block in a sink, as Spark takes it. Starts with one reference, which is its maker's, and holds one reference to the sink until
 * its own last is released. Any thread.
 */
final class SinkManagedBuffer extends ManagedBuffer {

    private static final AtomicIntegerFieldUpdater<SinkManagedBuffer> REFERENCES =
            AtomicIntegerFieldUpdater.newUpdater(SinkManagedBuffer.class, "references");

    private final Sink sink;
    private final long offset;
    private final int lengthBytes;
    private volatile int references = 1;

    SinkManagedBuffer(Sink sink, long offset, int lengthBytes) {
        sink.retain();
        this.sink = sink;
        this.offset = offset;
        this.lengthBytes = lengthBytes;
    }

    @Override
    public long size() {
        return lengthBytes;
    }

    @Override
    public ByteBuffer nioByteBuffer() {
        return sink.view(offset, lengthBytes);
    }

    @Override
    public InputStream createInputStream() {
        return new ByteBufferInputStream(nioByteBuffer());
    }

    @Override
    public ManagedBuffer retain() {
        if (REFERENCES.getAndIncrement(this) <= 0) {
            throw new IllegalStateException("block used after its last release");
        }
        return this;
    }

    @Override
    public ManagedBuffer release() {
        int left = REFERENCES.decrementAndGet(this);
        if (left == 0) {
            sink.release();
        } else if (left < 0) {
            throw new IllegalStateException("block released more often than retained");
        }
        return this;
    }

    @Override
    public Object convertToNetty() {
        return Unpooled.wrappedBuffer(nioByteBuffer());
    }

    /** Abstract in ManagedBuffer since Spark 4.0, unknown to 3.5: hence no Override. */
    @SuppressWarnings("override")
    public Object convertToNettyForSsl() {
        return convertToNetty();
    }
}
