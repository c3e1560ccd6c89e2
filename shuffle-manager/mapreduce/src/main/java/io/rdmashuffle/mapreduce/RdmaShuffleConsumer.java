package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskStatus;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;
import org.apache.hadoop.mapreduce.task.reduce.MergeManagerImpl;
import org.apache.hadoop.mapreduce.task.reduce.Shuffle;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedulerImpl;

/**
 * The reduce task's shuffle: Hadoop's own scheduler and merge, with fetchers that read over RDMA where they can. Set as
 * {@code mapreduce.job.reduce.shuffle.consumer.plugin.class}. Used by the reduce task's main thread.
 */
public final class RdmaShuffleConsumer<K, V> implements ShuffleConsumerPlugin<K, V>, ExceptionReporter {

    static final String COUNTER_GROUP = "RDMA shuffle";

    private static final int PROGRESS_MILLIS = 2000;
    private static final int DEFAULT_PARALLEL_COPIES = 5;

    private Context<K, V> context;
    private Shuffle<K, V> local; // when map outputs are this process's own: there is nothing to fetch
    private ShuffleSchedulerImpl<K, V> scheduler;
    private MergeManager<K, V> merger;
    private Throwable failure; // under the scheduler's lock, which waitUntilDone waits on
    private String failedThread;

    @Override
    public void init(Context<K, V> task) {
        if (task.getLocalMapFiles() != null) {
            local = new Shuffle<>();
            local.init(task);
            return;
        }
        context = task;
        scheduler = new ShuffleSchedulerImpl<>(
                task.getJobConf(),
                task.getStatus(),
                task.getReduceId(),
                this,
                task.getCopyPhase(),
                task.getShuffledMapsCounter(),
                task.getReduceShuffleBytes(),
                task.getFailedShuffleCounter());
        merger = mergeManager(task);
    }

    @Override
    public RawKeyValueIterator run() throws IOException, InterruptedException {
        if (local != null) {
            return local.run();
        }
        try (ReducerSide side =
                ReducerSide.start(context.getJobConf(), context.getReduceTask().getShuffleSecret())) {
            copy(side);
            report(side.counters());
        }
        context.getCopyPhase().complete();
        context.getStatus().setPhase(TaskStatus.Phase.SORT);
        context.getReduceTask().statusUpdate(context.getUmbilical());
        try {
            RawKeyValueIterator merged = merger.close();
            throwFailure();
            return merged;
        } catch (IOException | InterruptedException e) {
            throw e;
        } catch (Throwable e) {
            throw new IOException("the final merge failed", e);
        }
    }

    @Override
    public void close() {
        if (local != null) {
            local.close();
        }
    }

    /** A thread of the shuffle failed; the task fails with it. */
    @Override
    public void reportException(Throwable thrown) {
        synchronized (scheduler) {
            if (failure == null) {
                failure = thrown;
                failedThread = Thread.currentThread().getName();
                scheduler.notifyAll();
            }
        }
    }

    /** Fetches all map outputs; no thread of it is left afterwards. */
    private void copy(ReducerSide side) throws IOException, InterruptedException {
        List<RdmaFetcher<K, V>> fetchers = startFetchers(side);
        Thread events = new Thread(
                new MapEvents(
                        (TaskAttemptID) context.getReduceId(),
                        context.getUmbilical(),
                        scheduler,
                        this,
                        context.getJobConf().getNumReduceTasks()),
                "map completion events");
        events.setDaemon(true);
        events.start();
        try {
            while (!scheduler.waitUntilDone(PROGRESS_MILLIS)) {
                context.getReporter().progress();
                throwFailure();
            }
        } finally {
            events.interrupt();
            for (RdmaFetcher<K, V> fetcher : fetchers) {
                fetcher.shutDown();
            }
            scheduler.close();
            events.join(TimeUnit.SECONDS.toMillis(5));
        }
    }

    private List<RdmaFetcher<K, V>> startFetchers(ReducerSide side) throws IOException {
        ShuffleClientMetrics metrics = ShuffleClientMetrics.create(context.getReduceId(), context.getJobConf());
        int parallel = context.getJobConf().getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, DEFAULT_PARALLEL_COPIES);
        List<RdmaFetcher<K, V>> fetchers = new ArrayList<>();
        for (int i = 0; i < parallel; i++) {
            RdmaFetcher<K, V> fetcher = new RdmaFetcher<>(context, scheduler, merger, metrics, this, side);
            fetcher.start();
            fetchers.add(fetcher);
        }
        return fetchers;
    }

    private void throwFailure() throws IOException {
        synchronized (scheduler) {
            if (failure != null) {
                throw new IOException("the shuffle failed in " + failedThread, failure);
            }
        }
    }

    private MergeManager<K, V> mergeManager(Context<K, V> task) {
        return new MergeManagerImpl<>(
                task.getReduceId(),
                task.getJobConf(),
                task.getLocalFS(),
                task.getLocalDirAllocator(),
                task.getReporter(),
                task.getCodec(),
                task.getCombinerClass(),
                task.getCombineCollector(),
                task.getSpilledRecordsCounter(),
                task.getReduceCombineInputCounter(),
                task.getMergedMapOutputsCounter(),
                this,
                task.getMergePhase(),
                task.getMapOutputFile());
    }

    /** Into the job's counters, where RDMA and HTTP bytes add up to Hadoop's own count of shuffled bytes. */
    private void report(Counters counters) {
        Reporter reporter = context.getReporter();
        long rdmaBytes = counters.get(Counter.RDMA_BYTES);
        reporter.incrCounter(COUNTER_GROUP, "RDMA_BYTES", rdmaBytes);
        reporter.incrCounter(COUNTER_GROUP, "RDMA_SEGMENTS", counters.get(Counter.RDMA_BLOCKS));
        long httpBytes = context.getReduceShuffleBytes().getCounter() - rdmaBytes;
        reporter.incrCounter(COUNTER_GROUP, "HTTP_BYTES", httpBytes);
        for (FallbackReason reason : FallbackReason.values()) {
            if (counters.get(reason) > 0) {
                reporter.incrCounter(COUNTER_GROUP, "FALLBACK_" + reason, counters.get(reason));
            }
        }
    }
}
