package io.rdmashuffle.spark;

import io.netty.channel.DefaultFileRegion;
import io.netty.util.AbstractReferenceCounted;
import io.netty.util.ReferenceCounted;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.network.util.TransportConf;

/** A map output whose offsets are in memory and whose data file stays open from the first block sent on. Any thread. */
final class ServedOutput {

    /** Up to this, opening and closing the file costs more than to copy the bytes once. */
    private static final int SMALL_BYTES = 16 << 10;

    private final File dataFile;
    private final long[] offsets;
    private final OpenFiles openFiles;
    private OpenFile open; // null before the first block, when too many are open, and after the end
    private boolean closed;

    /** @param offsets R+1 offsets into the data file */
    ServedOutput(File dataFile, long[] offsets, OpenFiles openFiles) {
        this.dataFile = dataFile;
        this.offsets = offsets;
        this.openFiles = openFiles;
    }

    int partitions() {
        return offsets.length - 1;
    }

    long offsetsBytes() {
        return (long) Long.BYTES * offsets.length;
    }

    /**
     * The blocks of these reduce partitions. Long ones go from file to socket within the kernel (sendfile), which Netty does for
     * Spark's own buffers only; and tasks, which alone have a context, are given those too, as they may be interrupted while they
     * read, which closes a channel.
     */
    ManagedBuffer segment(TransportConf transport, int start, int end) {
        var file = new FileSegmentManagedBuffer(transport, dataFile, offsets[start], offsets[end] - offsets[start]);
        return file.size() > SMALL_BYTES || TaskContext.get() != null ? file : new Segment(file);
    }

    /** The file is closed as soon as nothing is being sent from it; later blocks open it for themselves. */
    synchronized void close() {
        closed = true;
        dropOpenFile();
    }

    /** With a reference for the caller; null when the file cannot be kept open. */
    private synchronized OpenFile openFile() throws IOException {
        if (open != null && !open.channel.isOpen()) { // an interrupt closes a channel
            dropOpenFile();
        }
        if (open == null && !closed && openFiles.tryTake()) {
            try {
                open = new OpenFile(FileChannel.open(dataFile.toPath(), StandardOpenOption.READ));
            } catch (IOException e) {
                openFiles.giveBack();
                throw e;
            }
        }
        return open == null ? null : (OpenFile) open.retain();
    }

    private void dropOpenFile() {
        if (open != null) {
            open.release();
            open = null;
        }
    }

    /** Limits how many files are kept open, those that are only being sent from included. */
    interface OpenFiles {
        boolean tryTake();

        void giveBack();
    }

    private final class OpenFile extends AbstractReferenceCounted {

        private final FileChannel channel;

        OpenFile(FileChannel channel) {
            this.channel = channel;
        }

        @Override
        protected void deallocate() {
            JavaUtils.closeQuietly(channel);
            openFiles.giveBack();
        }

        @Override
        public ReferenceCounted touch(Object hint) {
            return this;
        }
    }

    /** As Spark's own, but sent without opening the file. */
    private final class Segment extends ManagedBuffer {

        private final FileSegmentManagedBuffer file;

        Segment(FileSegmentManagedBuffer file) {
            this.file = file;
        }

        @Override
        public long size() {
            return file.size();
        }

        @Override
        public ByteBuffer nioByteBuffer() throws IOException {
            return file.nioByteBuffer();
        }

        @Override
        public InputStream createInputStream() throws IOException {
            return file.createInputStream();
        }

        @Override
        public ManagedBuffer retain() {
            return this;
        }

        @Override
        public ManagedBuffer release() {
            return this;
        }

        @Override
        public Object convertToNetty() throws IOException {
            OpenFile kept = openFile();
            return kept == null ? file.convertToNetty() : new Region(kept, file.getOffset(), file.getLength());
        }

        @Override
        public Object convertToNettyForSsl() throws IOException {
            return file.convertToNettyForSsl();
        }
    }

    /** Leaves the file open for others. */
    private static final class Region extends DefaultFileRegion {

        private final OpenFile file;

        Region(OpenFile file, long offset, long lengthBytes) {
            super(file.channel, offset, lengthBytes);
            this.file = file;
        }

        @Override
        protected void deallocate() {
            file.release();
        }
    }
}
