package io.rdmashuffle.spark;

import io.rdmashuffle.core.RdmaNode;
import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.config.RdmaConfig;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Set as {@code spark.shuffle.manager}. Spark's sort shuffle writes and commits the files as always; then they are published, and
 * remote blocks are pulled by RDMA_READ, or by Spark's own client where that cannot be.
 *
 * <p>It is a {@link SortShuffleManager} because Spark SQL asks for that when it decides whether rows must be copied.
 */
public final class RdmaShuffleManager extends SortShuffleManager {

    private final SparkConf conf;
    private final boolean isDriver;
    private final RdmaConfig config;
    private final IndexShuffleBlockResolver resolver; // null for Spark's own
    private DriverSide driverSide;
    private ExecutorSide executorSide;

    /** Called by Spark, on the driver and on each executor; SparkEnv may not exist yet. */
    public RdmaShuffleManager(SparkConf conf, boolean isDriver) {
        super(conf);
        this.conf = conf;
        this.isDriver = isDriver;
        this.config = SparkSettings.read(conf);
        this.resolver = servesFromMemory()
                ? new CachingBlockResolver(
                        conf,
                        super.shuffleBlockResolver(),
                        config.get(RdmaConfig.OFFSETS_CACHE_MAX_BYTES),
                        (shuffleId, mapId, dataFile, lengths) ->
                                executorSide().publish(shuffleId, mapId, dataFile, lengths))
                : null;
        if (!isDriver && !isOff()) {
            RdmaNode.warmUp();
        }
    }

    /** Called on the driver, before any task of the shuffle. */
    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        if (!isOff()) {
            driverSide(dependency);
        }
        return super.registerShuffle(shuffleId, dependency);
    }

    /** Called by map tasks. */
    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        ShuffleWriter<K, V> writer = super.getWriter(handle, mapId, context, metrics);
        if (isDriver || isOff()) {
            return writer;
        }
        return new RdmaShuffleWriter<>(
                writer, executorSide(context), shuffleBlockResolver(), handle.shuffleId(), mapId);
    }

    /** Called by reduce tasks. */
    @Override
    @SuppressWarnings("unchecked") // as Spark does: registerShuffle made the handle
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        if (isDriver || isOff()) {
            return super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
        }
        BlocksToRead blocks =
                BlocksToRead.find(handle, startMapIndex, endMapIndex, startPartition, endPartition, context);
        return new RdmaShuffleReader<>(
                (BaseShuffleHandle<K, Object, C>) handle,
                blocks,
                context,
                metrics,
                executorSide(context).client().forReader(context));
    }

    /** Called on the driver and on every executor. */
    @Override
    public IndexShuffleBlockResolver shuffleBlockResolver() {
        return resolver == null ? super.shuffleBlockResolver() : resolver;
    }

    /** Called on the driver and on every executor when the shuffle is no longer wanted. */
    @Override
    public boolean unregisterShuffle(int shuffleId) {
        synchronized (this) {
            if (driverSide != null) {
                driverSide.removeShuffle(shuffleId);
            }
            if (executorSide != null) {
                executorSide.removeShuffle(shuffleId);
            }
        }
        return super.unregisterShuffle(shuffleId);
    }

    /** Called by SparkEnv.stop, before the block manager and the RPC environment end. */
    @Override
    public void stop() {
        synchronized (this) {
            if (driverSide != null) {
                driverSide.close();
            }
            if (executorSide != null) {
                executorSide.close();
            }
        }
        super.stop();
    }

    ApplicationReport report() {
        DriverSide side;
        synchronized (this) {
            side = driverSide;
        }
        return side == null ? DriverSide.nothingYet() : side.report();
    }

    private boolean servesFromMemory() {
        return !isDriver
                && !isOff()
                && config.get(RdmaConfig.OFFSETS_CACHE_MAX_BYTES) > 0
                && !SparkSettings.usesOldFetchProtocol(conf)
                && SparkCompat.canExtendResolver();
    }

    private boolean isOff() {
        return config.get(RdmaConfig.MODE) == Mode.OFF;
    }

    private synchronized DriverSide driverSide(ShuffleDependency<?, ?, ?> dependency) {
        if (driverSide == null) {
            driverSide =
                    DriverSide.start(SparkEnv.get().rpcEnv(), dependency.rdd().sparkContext());
        }
        return driverSide;
    }

    /** Made with the first shuffle task of the executor, or the first map output handed on to it; whoever comes first waits for it. */
    private synchronized ExecutorSide executorSide() {
        if (executorSide == null) {
            executorSide = ExecutorSide.start(SparkEnv.get(), conf, config);
        }
        return executorSide;
    }

    /** The same for a task, which reports when it ends. */
    private ExecutorSide executorSide(TaskContext context) {
        ExecutorSide side = executorSide();
        side.reports().taskStarted();
        context.addTaskCompletionListener(
                (TaskCompletionListener) ended -> side.reports().taskEnded());
        return side;
    }
}
