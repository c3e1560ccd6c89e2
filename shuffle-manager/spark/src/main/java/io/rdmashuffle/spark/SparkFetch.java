package io.rdmashuffle.spark;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.read.BlockListener;
import io.rdmashuffle.core.read.BlockRequest;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockId$;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;

/** One call of fetchBlocks: Spark's block ids on one side, a {@link BlockRequest} and its outcomes on the other. */
final class SparkFetch implements BlockListener {

    private final RdmaBlockStoreClient client;
    private final ExecutorSide executor;
    private final String host;
    private final int port;
    private final String execId;
    private final BlockFetchingListener listener;
    private final DownloadFileManager downloads;
    private String[] readIds;

    SparkFetch(
            RdmaBlockStoreClient client,
            ExecutorSide executor,
            String host,
            int port,
            String execId,
            BlockFetchingListener listener,
            DownloadFileManager downloads) {
        this.client = client;
        this.executor = executor;
        this.host = host;
        this.port = port;
        this.execId = execId;
        this.listener = listener;
        this.downloads = downloads;
    }

    /** Begins; returns at once. */
    void start(String[] blockIds) {
        Parsed parsed = new Parsed(blockIds.length);
        for (String blockId : blockIds) {
            parsed.add(blockId);
        }
        if (!parsed.unsupported.isEmpty()) {
            String[] unsupported = parsed.unsupported.toArray(String[]::new);
            client.fallBack(this, unsupported, FallbackReason.UNSUPPORTED_BLOCK, unsupported[0]);
        }
        if (parsed.count > 0) {
            readIds = Arrays.copyOf(parsed.ids, parsed.count);
            BlockRequest request = parsed.request(execId);
            if (client.asked().askedBefore(request)) {
                client.fallBack(this, readIds, FallbackReason.CORRUPT, readIds[0]);
            } else {
                executor.node().reader().fetch(request, this);
            }
        }
    }

    @Override
    public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
        executor.counters().add(Counter.RDMA_BYTES, lengthBytes);
        executor.counters().add(Counter.RDMA_BLOCKS, 1);
        ManagedBuffer buffer = sink == null
                ? new NioManagedBuffer(ByteBuffer.allocate(0))
                : new SinkManagedBuffer(sink, offset, lengthBytes);
        listener.onBlockFetchSuccess(readIds[block], buffer);
        buffer.release();
    }

    @Override
    public void onFallback(int[] blocks, FallbackReason reason, String detail) {
        String[] ids = Arrays.stream(blocks).mapToObj(block -> readIds[block]).toArray(String[]::new);
        client.fallBackLater(this, ids, reason, detail);
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

    /** The blocks that can be read over RDMA, as columns, and those that cannot. */
    private static final class Parsed {

        private final String[] ids;
        private final long[] mapIds;
        private final int[] starts;
        private final int[] ends;
        private final List<String> unsupported = new ArrayList<>();
        private int shuffleId;
        private int count;

        Parsed(int blocks) {
            ids = new String[blocks];
            mapIds = new long[blocks];
            starts = new int[blocks];
            ends = new int[blocks];
        }

        void add(String blockId) {
            BlockId parsed = BlockId$.MODULE$.apply(blockId);
            if (parsed instanceof ShuffleBlockId block) {
                add(blockId, block.shuffleId(), block.mapId(), block.reduceId(), block.reduceId() + 1);
            } else if (parsed instanceof ShuffleBlockBatchId batch) {
                add(blockId, batch.shuffleId(), batch.mapId(), batch.startReduceId(), batch.endReduceId());
            } else {
                unsupported.add(blockId); // a push-merged chunk
            }
        }

        BlockRequest request(String execId) {
            return new BlockRequest(
                    shuffleId,
                    execId,
                    Arrays.copyOf(mapIds, count),
                    Arrays.copyOf(starts, count),
                    Arrays.copyOf(ends, count));
        }

        private void add(String blockId, int shuffle, long mapId, int start, int end) {
            if (count > 0 && shuffle != shuffleId) {
                unsupported.add(blockId); // a reader reads one shuffle
                return;
            }
            shuffleId = shuffle;
            ids[count] = blockId;
            mapIds[count] = mapId;
            starts[count] = start;
            ends[count++] = end;
        }
    }
}
