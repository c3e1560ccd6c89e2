package io.rdmashuffle.spark;

import io.rdmashuffle.core.memory.Sink;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;

/**
 * A block in a sink, as Spark takes it. Starts with one reference, which is its maker's, and holds one reference to the sink until
 * its own last is released. Any thread.
 */
final class SinkManagedBuffer extends ManagedBuffer {

    private static final AtomicIntegerFieldUpdater<SinkManagedBuffer> REFERENCES =
            AtomicIntegerFieldUpdater.newUpdater(SinkManagedBuffer.class, "references");

    private final Sink sink;
    private final NioManagedBuffer view;
    private volatile int references = 1;

    SinkManagedBuffer(Sink sink, long offset, int lengthBytes) {
        sink.retain();
        this.sink = sink;
        this.view = new NioManagedBuffer(sink.view(offset, lengthBytes));
    }

    @Override
    public long size() {
        return view.size();
    }

    @Override
    public ByteBuffer nioByteBuffer() throws IOException {
        return view.nioByteBuffer();
    }

    @Override
    public InputStream createInputStream() throws IOException {
        return view.createInputStream();
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
    public Object convertToNetty() throws IOException {
        return view.convertToNetty();
    }

    /** Abstract in ManagedBuffer since Spark 4.0, unknown to 3.5: hence no Override. */
    @SuppressWarnings("override")
    public Object convertToNettyForSsl() throws IOException {
        return view.convertToNetty();
    }
}
