package io.rdmashuffle.spark;

import com.codahale.metrics.MetricSet;
import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.BlockPushingListener;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.MergeFinalizerListener;
import org.apache.spark.network.shuffle.MergedBlocksMetaListener;
import org.apache.spark.network.shuffle.checksum.Cause;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What Spark's fetch iterator asks for remote blocks: reads them over RDMA and hands the rest, with its reason, to Spark's own
 * client. {@link #fetchBlocks} neither throws nor blocks.
 */
final class RdmaBlockStoreClient extends BlockStoreClient {

    private static final Logger LOG = LoggerFactory.getLogger(RdmaBlockStoreClient.class);

    private final BlockStoreClient spark;
    private final ExecutorSide executor;
    private final TransportConf transport;
    private final AskedBlocks asked = new AskedBlocks();

    /** Of tasks that have ended. */
    private final Queue<RdmaBlockStoreClient> idleReaders = new ConcurrentLinkedQueue<>();

    /** For what may block, found on the event loop, which must not: Spark's client while it connects, and writes to disk. */
    private final ExecutorService blockingThreads;

    private RdmaBlockStoreClient(
            BlockStoreClient spark, ExecutorSide executor, TransportConf transport, ExecutorService blockingThreads) {
        this.spark = spark;
        this.executor = executor;
        this.transport = transport;
        this.blockingThreads = blockingThreads;
    }

    /**
     * The executor's client, of which each reader gets one of its own.
     *
     * @param transport for the temporary files of long blocks
     */
    RdmaBlockStoreClient(BlockStoreClient spark, ExecutorSide executor, TransportConf transport) {
        this(spark, executor, transport, Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work, "rdma-shuffle-blocking");
            thread.setDaemon(true);
            return thread;
        }));
    }

    /**
     * A client for one reader of a task, on whose thread it is used; it is not closed. Another reader gets it after the task, as
     * making one costs a logger, which is dear beside a short task.
     */
    RdmaBlockStoreClient forReader(TaskContext task) {
        RdmaBlockStoreClient idle = idleReaders.poll();
        RdmaBlockStoreClient reader =
                idle != null ? idle : new RdmaBlockStoreClient(spark, executor, transport, blockingThreads);
        task.addTaskCompletionListener((TaskCompletionListener) ended -> {
            reader.asked.clear();
            idleReaders.add(reader);
        });
        return reader;
    }

    @Override
    public void fetchBlocks(
            String host,
            int port,
            String execId,
            String[] blockIds,
            BlockFetchingListener listener,
            DownloadFileManager downloads) {
        // Spark gives a place for files when the request is above spark.network.maxRemoteBlockSizeFetchToMem
        BlockFiles files = downloads == null ? null : new BlockFiles(downloads, transport, listener, blockingThreads);
        SparkFetch fetch = new SparkFetch(this, executor, host, port, execId, listener, downloads, files);
        if (executor.node() == null) {
            fallBack(fetch, blockIds, executor.whyNot(), executor.cause());
        } else {
            fetch.start(blockIds);
        }
    }

    /** What this reader has asked for over RDMA. */
    AskedBlocks asked() {
        return asked;
    }

    /** Reads the blocks by Spark's client on this thread. In {@code mode=required} they fail instead. */
    void fallBack(SparkFetch fetch, String[] blockIds, FallbackReason reason, String detail) {
        try {
            executor.fallbacks().record(fetch.peer(), reason, blockIds.length, detail);
            if (executor.mode() == Mode.REQUIRED) {
                fail(fetch, blockIds, new RdmaRequiredException(reason, detail));
            } else {
                spark.fetchBlocks(
                        fetch.host(),
                        fetch.port(),
                        fetch.execId(),
                        blockIds,
                        new CountingListener(fetch.listener(), reason, executor.counters()),
                        fetch.downloads());
            }
        } catch (RuntimeException | Error e) {
            LOG.error("RDMA shuffle: a defect while blocks fell back; the task is told that they could not be read", e);
            fail(fetch, blockIds, e);
        }
    }

    /** Each block is told of once, whatever the listener throws. */
    private static void fail(SparkFetch fetch, String[] blockIds, Throwable failure) {
        for (String id : blockIds) {
            try {
                fetch.listener().onBlockFetchFailure(id, failure);
            } catch (RuntimeException | Error e) {
                LOG.error("RDMA shuffle: whoever asked for blocks failed when told of one", e);
            }
        }
    }

    /** The same from the event loop. */
    void fallBackLater(SparkFetch fetch, String[] blockIds, FallbackReason reason, String detail) {
        blockingThreads.execute(() -> fallBack(fetch, blockIds, reason, detail));
    }

    /** The iterator asks why a block did not decode before it gives the map output up: Spark's client knows, we count. */
    @Override
    public Cause diagnoseCorruption(
            String host,
            int port,
            String execId,
            int shuffleId,
            long mapId,
            int reduceId,
            long checksum,
            String algorithm) {
        Cause cause = spark.diagnoseCorruption(host, port, execId, shuffleId, mapId, reduceId, checksum, algorithm);
        executor.fallbacks().record(SparkFetch.peer(host, port, execId), FallbackReason.CORRUPT, 1, cause.toString());
        return cause;
    }

    // the rest is Spark's: the base class would use fields of its own that only Spark's clients set

    @Override
    public MetricSet shuffleMetrics() {
        return spark.shuffleMetrics();
    }

    @Override
    public void setAppAttemptId(String appAttemptId) {
        spark.setAppAttemptId(appAttemptId);
    }

    @Override
    public String getAppAttemptId() {
        return spark.getAppAttemptId();
    }

    @Override
    public void getHostLocalDirs(
            String host, int port, String[] execIds, CompletableFuture<Map<String, String[]>> hostLocalDirs) {
        spark.getHostLocalDirs(host, port, execIds, hostLocalDirs);
    }

    @Override
    public void pushBlocks(
            String host, int port, String[] blockIds, ManagedBuffer[] buffers, BlockPushingListener listener) {
        spark.pushBlocks(host, port, blockIds, buffers, listener);
    }

    @Override
    public void finalizeShuffleMerge(
            String host, int port, int shuffleId, int shuffleMergeId, MergeFinalizerListener listener) {
        spark.finalizeShuffleMerge(host, port, shuffleId, shuffleMergeId, listener);
    }

    @Override
    public void getMergedBlockMeta(
            String host, int port, int shuffleId, int shuffleMergeId, int reduceId, MergedBlocksMetaListener listener) {
        spark.getMergedBlockMeta(host, port, shuffleId, shuffleMergeId, reduceId, listener);
    }

    @Override
    public boolean removeShuffleMerge(String host, int port, int shuffleId, int shuffleMergeId) {
        return spark.removeShuffleMerge(host, port, shuffleId, shuffleMergeId);
    }

    /** Ends our threads; Spark's client is Spark's to close. */
    @Override
    public void close() {
        blockingThreads.shutdown();
    }
}
