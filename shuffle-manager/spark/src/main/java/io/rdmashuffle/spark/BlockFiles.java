package io.rdmashuffle.spark;

import io.rdmashuffle.core.read.SliceListener.Slice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.DownloadFileWritableChannel;
import org.apache.spark.network.util.TransportConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the blocks of one fetch to Spark's temporary files as OneForOneBlockFetcher's DownloadCallback does, one after the other, on
 * threads that may wait for the disk. Called by the event loop.
 */
final class BlockFiles {

    private static final Logger LOG = LoggerFactory.getLogger(BlockFiles.class);

    private final DownloadFileManager downloads;
    private final TransportConf conf;
    private final BlockFetchingListener listener;
    private final Executor threads;
    /** What is to be done, in the order in which it came; below, what belongs to it. */
    private CompletableFuture<Void> work = CompletableFuture.completedFuture(null);

    private String openId; // of the block written last
    private DownloadFile file; // null when that block is done or given up
    private DownloadFileWritableChannel channel;
    private long writtenBytes;

    BlockFiles(DownloadFileManager downloads, TransportConf conf, BlockFetchingListener listener, Executor threads) {
        this.downloads = downloads;
        this.conf = conf;
        this.listener = listener;
        this.threads = threads;
    }

    /** Told the bytes of a block that Spark has. */
    interface Delivered {
        void onDelivered(long bytes);
    }

    /** Appends a slice to its block's file; with the last one hands the file to Spark. */
    void write(String blockId, Slice slice, Delivered delivered) {
        then(() -> append(blockId, slice, delivered));
    }

    /** Deletes what there is of these blocks, then goes on with what is to be done about them. */
    void giveUp(String[] blockIds, Runnable next) {
        then(() -> {
            try {
                if (Arrays.asList(blockIds).contains(openId)) { // null before the first slice of all
                    discard();
                }
            } finally {
                next.run();
            }
        });
    }

    /** Whatever happened to the work before. */
    private void then(Runnable next) {
        work = work.thenRunAsync(next, threads).exceptionally(e -> {
            LOG.error("RDMA shuffle: a defect while blocks were written to files", e);
            return null;
        });
    }

    private void append(String blockId, Slice slice, Delivered delivered) {
        try {
            if (!blockId.equals(openId)) {
                open(blockId);
            }
            if (file != null) {
                write(slice.bytes());
                if (slice.isLast()) {
                    finish(delivered);
                }
            } // else the block was given up
        } catch (IOException | RuntimeException | Error e) {
            discard();
            slice.failed(e.toString());
            return;
        }
        slice.consumed();
    }

    private void open(String blockId) throws IOException {
        openId = blockId;
        writtenBytes = 0;
        file = downloads.createTempFile(conf);
        channel = file.openForWriting();
    }

    private void write(ByteBuffer bytes) throws IOException {
        writtenBytes += bytes.remaining();
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    private void finish(Delivered delivered) throws IOException {
        ManagedBuffer buffer = channel.closeAndRead();
        delivered.onDelivered(writtenBytes);
        listener.onBlockFetchSuccess(openId, buffer);
        if (!downloads.registerTempFileToClean(file)) {
            file.delete();
        }
        file = null;
        channel = null;
    }

    private void discard() {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                LOG.debug("{} is deleted, though it could not be closed", file.path(), e);
            }
        }
        if (file != null) {
            file.delete();
        }
        file = null;
        channel = null;
    }
}
