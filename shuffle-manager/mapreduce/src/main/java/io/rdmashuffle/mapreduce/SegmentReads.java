package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.SingleRead;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The segments of one visit to a host, read in order, each as a stream. They are cut into chunks, and a window of chunks is READ
 * ahead of the consumer, across the segments, so that neither a long segment needs much memory nor many short ones cost a round
 * trip each. The fetcher's thread only.
 */
final class SegmentReads implements AutoCloseable {

    /** A READ that did not come to be, with its reason. */
    static final class ReadException extends IOException {

        private static final long serialVersionUID = 1L;

        private final FallbackReason reason;

        ReadException(FallbackReason reason, String detail) {
            super(detail.isEmpty() ? reason.meaning() : reason.meaning() + ": " + detail);
            this.reason = reason;
        }

        FallbackReason reason() {
            return reason;
        }
    }

    private static final int CHUNK_BYTES = 1 << 20;
    private static final long WINDOW_BYTES = 4 << 20;
    private static final int PROGRESS_SECONDS = 5;

    private final ReducerSide side;
    private final Owner owner;
    private final List<Segment> segments;
    private final Runnable progress;
    private final int chunkBytes;
    private final ArrayDeque<Chunk> window = new ArrayDeque<>();
    private long windowBytes;
    private int nextSegment; // of the next chunk to post
    private long nextOffset;

    /**
     * @param segments readable ones
     * @param progress told from time to time while a READ is awaited
     */
    SegmentReads(ReducerSide side, Owner owner, List<Segment> segments, Runnable progress) {
        this.side = side;
        this.owner = owner;
        this.segments = segments;
        this.progress = progress;
        this.chunkBytes = (int) Math.min(CHUNK_BYTES, side.maxMessageBytes());
    }

    /** The bytes of a segment, which must be read to their end before the next segment is opened. */
    InputStream open(int segment) {
        return new SegmentStream(segments.get(segment).partLength());
    }

    /** Gives back what was read ahead; READs under way give their sinks back when they end. */
    @Override
    public void close() {
        nextSegment = segments.size();
        window.forEach(chunk -> chunk.done.thenAccept(Sink::release));
        window.clear();
    }

    private Chunk next() throws IOException {
        postAhead();
        Chunk chunk = window.peek();
        chunk.await(progress);
        window.poll();
        windowBytes -= chunk.sink().capacityBytes();
        return chunk;
    }

    /** At least one chunk, more while the window and the pool allow. */
    private void postAhead() throws IOException {
        while (nextSegment < segments.size() && (window.isEmpty() || windowBytes < WINDOW_BYTES)) {
            Segment segment = segments.get(nextSegment);
            int length = (int) Math.min(chunkBytes, segment.partLength() - nextOffset);
            Sink sink = window.isEmpty() ? side.awaitSink(length) : side.trySink(length);
            if (sink == null) {
                return;
            }
            Chunk chunk = new Chunk(sink, segment.address() + nextOffset, segment.rkey(), length);
            window.add(chunk);
            windowBytes += sink.capacityBytes();
            side.submit(owner, chunk);
            nextOffset += length;
            if (nextOffset == segment.partLength()) {
                nextOffset = 0;
                nextSegment++;
            }
        }
    }

    /** One READ into one sink. Its future holds the sink, whose reference passes to whoever takes it from there. */
    private static final class Chunk extends SingleRead {

        private final CompletableFuture<Sink> done = new CompletableFuture<>();

        Chunk(Sink sink, long remoteAddress, int rkey, int lengthBytes) {
            super(sink, remoteAddress, rkey, lengthBytes);
        }

        /** The connection ends every READ within its time-out, so this ends too. */
        void await(Runnable progress) throws IOException {
            while (true) {
                try {
                    done.get(PROGRESS_SECONDS, TimeUnit.SECONDS);
                    return;
                } catch (TimeoutException e) {
                    progress.run();
                } catch (ExecutionException e) {
                    throw (ReadException) e.getCause();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new InterruptedIOException("interrupted while waiting for a READ");
                }
            }
        }

        @Override
        public void onDone() {
            done.complete(sink());
        }

        @Override
        public void onFailed(FallbackReason reason, String detail) {
            sink().release();
            done.completeExceptionally(new ReadException(reason, detail));
        }
    }

    private final class SegmentStream extends InputStream {

        private long remaining; // not yet taken from the window
        private Sink sink;
        private ByteBuffer bytes = ByteBuffer.allocate(0);

        SegmentStream(long length) {
            this.remaining = length;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (!bytes.hasRemaining() && !advance()) {
                return -1;
            }
            int count = Math.min(length, bytes.remaining());
            bytes.get(target, offset, count);
            return count;
        }

        @Override
        public void close() {
            if (sink != null) {
                sink.release();
                sink = null;
                bytes = ByteBuffer.allocate(0);
            }
            remaining = 0;
        }

        private boolean advance() throws IOException {
            if (sink != null) {
                sink.release();
                sink = null;
            }
            if (remaining == 0) {
                return false;
            }
            Chunk chunk = next();
            sink = chunk.sink();
            bytes = sink.view(0, chunk.lengthBytes(0));
            remaining -= chunk.lengthBytes(0);
            return true;
        }
    }
}
