package io.rdmashuffle.spark;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.read.BlockRequest;
import io.rdmashuffle.core.read.SliceListener;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;

/** One call of fetchBlocks: Spark's block ids and listener on one side, a fetch of core's reader on the other. */
final class SparkFetch implements SliceListener {

    private final RdmaBlockStoreClient client;
    private final ExecutorSide executor;
    private final String host;
    private final int port;
    private final String execId;
    private final BlockFetchingListener listener;
    private final DownloadFileManager downloads;
    private final BlockFiles files; // null when blocks go to memory
    private String[] readIds;

    SparkFetch(
            RdmaBlockStoreClient client,
            ExecutorSide executor,
            String host,
            int port,
            String execId,
            BlockFetchingListener listener,
            DownloadFileManager downloads,
            BlockFiles files) {
        this.client = client;
        this.executor = executor;
        this.host = host;
        this.port = port;
        this.execId = execId;
        this.listener = listener;
        this.downloads = downloads;
        this.files = files;
    }

    /** Begins; returns at once. */
    void start(String[] blockIds) {
        BlockIds ids = new BlockIds(blockIds);
        String[] unsupported = ids.unsupported();
        if (unsupported.length > 0) {
            client.fallBack(this, unsupported, FallbackReason.UNSUPPORTED_BLOCK, unsupported[0]);
        }
        readIds = ids.readable();
        if (readIds.length > 0) {
            BlockRequest request = ids.request(execId);
            if (client.asked().askedBefore(request)) {
                client.fallBack(this, readIds, FallbackReason.CORRUPT, readIds[0]);
            } else if (files == null) {
                executor.node().reader().fetch(request, this);
            } else {
                executor.node().reader().fetchInSlices(request, this);
            }
        }
    }

    @Override
    public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
        count(lengthBytes);
        ManagedBuffer buffer = sink == null
                ? new NioManagedBuffer(ByteBuffer.allocate(0))
                : new SinkManagedBuffer(sink, offset, lengthBytes);
        listener.onBlockFetchSuccess(readIds[block], buffer);
        buffer.release();
    }

    @Override
    public void onSlice(int block, Slice slice) {
        files.write(readIds[block], slice, this::count);
    }

    @Override
    public void onFallback(int[] blocks, FallbackReason reason, String detail) {
        String[] ids = Arrays.stream(blocks).mapToObj(block -> readIds[block]).toArray(String[]::new);
        if (files == null) {
            client.fallBackLater(this, ids, reason, detail);
        } else {
            files.giveUp(ids, () -> client.fallBack(this, ids, reason, detail));
        }
    }

    private void count(long bytes) {
        executor.counters().add(Counter.RDMA_BYTES, bytes);
        executor.counters().add(Counter.RDMA_BLOCKS, 1);
    }

    String peer() {
        return peer(host, port, execId);
    }

    static String peer(String host, int port, String execId) {
        return "blocks of executor " + execId + " at " + host + ":" + port;
    }

    String host() {
        return host;
    }

    int port() {
        return port;
    }

    String execId() {
        return execId;
    }

    BlockFetchingListener listener() {
        return listener;
    }

    DownloadFileManager downloads() {
        return downloads;
    }
}
