package io.rdmashuffle.integration.bench;

import io.rdmashuffle.spark.RdmaShuffleManager;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;

/**
 * Spark's sort shuffle and ours by turns in one application, each job with the one it was told. Two applications differ by more than
 * the two shuffles over TCP do, as compilers decide otherwise each time; here both run in the same JVMs.
 */
public final class AlternatingShuffleManager extends SortShuffleManager {

    private static final String CHOICE = "io.rdmashuffle.bench.shuffle"; // a local property, which tasks inherit
    private static final String SORT = "sort";

    private final RdmaShuffleManager ours;
    private final Set<Integer> shufflesOfSort = ConcurrentHashMap.newKeySet(); // that this executor wrote a part of
    private final IndexShuffleBlockResolver resolver;

    /** Called by Spark, on the driver and on each executor. */
    public AlternatingShuffleManager(SparkConf conf, boolean isDriver) {
        super(conf);
        ours = new RdmaShuffleManager(conf, isDriver);
        resolver = new Resolver(conf);
    }

    /** From now on jobs of this thread shuffle so: {@code sort} or {@code ours}. */
    public static void choose(SparkContext context, String shuffle) {
        context.setLocalProperty(CHOICE, shuffle);
    }

    @Override
    public <K, V, C> ShuffleHandle registerShuffle(int shuffleId, ShuffleDependency<K, V, C> dependency) {
        return ours.registerShuffle(shuffleId, dependency); // its handles are Spark's
    }

    @Override
    public <K, V> ShuffleWriter<K, V> getWriter(
            ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
        if (isSort(context)) {
            shufflesOfSort.add(handle.shuffleId());
            return super.getWriter(handle, mapId, context, metrics);
        }
        return ours.getWriter(handle, mapId, context, metrics);
    }

    @Override
    public <K, C> ShuffleReader<K, C> getReader(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context,
            ShuffleReadMetricsReporter metrics) {
        return isSort(context)
                ? super.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics)
                : ours.getReader(handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics);
    }

    @Override
    public IndexShuffleBlockResolver shuffleBlockResolver() {
        return resolver == null ? super.shuffleBlockResolver() : resolver; // null while Spark's constructor runs
    }

    @Override
    public boolean unregisterShuffle(int shuffleId) {
        shufflesOfSort.remove(shuffleId);
        return ours.unregisterShuffle(shuffleId) & super.unregisterShuffle(shuffleId);
    }

    @Override
    public void stop() {
        ours.stop();
        super.stop();
    }

    private static boolean isSort(TaskContext context) {
        return SORT.equals(context.getLocalProperty(CHOICE));
    }

    /** Serves each shuffle as the one that wrote it does. */
    private final class Resolver extends IndexShuffleBlockResolver {

        Resolver(SparkConf conf) {
            super(conf);
        }

        @Override
        public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> dirs) {
            boolean isSorts = blockId instanceof ShuffleBlockId block && shufflesOfSort.contains(block.shuffleId())
                    || blockId instanceof ShuffleBlockBatchId batch && shufflesOfSort.contains(batch.shuffleId());
            return isSorts
                    ? super.getBlockData(blockId, dirs)
                    : ours.shuffleBlockResolver().getBlockData(blockId, dirs);
        }

        @Override
        public void removeDataByMap(int shuffleId, long mapId) {
            ours.shuffleBlockResolver().removeDataByMap(shuffleId, mapId);
        }
    }
}
