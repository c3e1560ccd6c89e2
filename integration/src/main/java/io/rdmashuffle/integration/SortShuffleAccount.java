package io.rdmashuffle.integration;

import java.util.Map;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Sums the remote shuffle reads of Spark's task metrics, which under the sort shuffle all went over TCP. */
final class SortShuffleAccount extends SparkListener implements ShuffleAccount {
    private final SparkContext context;
    private long bytes;
    private long blocks;

    SortShuffleAccount(SparkContext context) {
        this.context = context;
        context.addSparkListener(this);
    }

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
        if (end.taskMetrics() != null) {
            bytes += end.taskMetrics().shuffleReadMetrics().remoteBytesRead();
            blocks += end.taskMetrics().shuffleReadMetrics().remoteBlocksFetched();
        }
    }

    @Override
    public RunSummary.Traffic total() {
        try {
            context.listenerBus().waitUntilEmpty();
        } catch (TimeoutException e) {
            throw new IllegalStateException("Spark's listener bus does not come to rest", e);
        }
        synchronized (this) {
            return new RunSummary.Traffic(0, 0, bytes, blocks, Map.of());
        }
    }

    @Override
    public Map<String, RunSummary.Transport> executors() {
        return Map.of();
    }
}
