package io.rdmashuffle.spark;

import java.io.IOException;
import java.io.InputStream;
import org.apache.spark.storage.BlockId;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The decoded streams of Spark's fetch iterator as one. A serializer whose objects may be moved about in a stream writes nothing
 * around them, so the end of a block is nothing to it, as in a fetched batch of blocks; and what ending costs (an exception, a new
 * stream and its buffers) is paid once for a task, not for each block. Each block's stream is closed, which releases its bytes,
 * before the next is asked for. On the task thread.
 */
final class ConcatenatedStreams extends InputStream {

    private final Iterator<Tuple2<BlockId, InputStream>> streams;
    private InputStream current = InputStream.nullInputStream();

    ConcatenatedStreams(Iterator<Tuple2<BlockId, InputStream>> streams) {
        this.streams = streams;
    }

    @Override
    public int read() throws IOException {
        int value = current.read();
        while (value < 0 && advance()) {
            value = current.read();
        }
        return value;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        int read = current.read(bytes, offset, length);
        while (read < 0 && advance()) {
            read = current.read(bytes, offset, length);
        }
        return read;
    }

    @Override
    public int available() throws IOException {
        return current.available();
    }

    @Override
    public void close() throws IOException {
        current.close();
    }

    private boolean advance() throws IOException {
        current.close();
        current = InputStream.nullInputStream();
        if (!streams.hasNext()) {
            return false;
        }
        current = streams.next()._2();
        return true;
    }
}
