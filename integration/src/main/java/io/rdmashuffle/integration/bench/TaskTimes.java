package io.rdmashuffle.integration.bench;

import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Sums up what Spark measures of tasks. */
final class TaskTimes extends SparkListener {

    /** In seconds. */
    record Sums(double mapTaskS, double reduceTaskCpuS, double fetchWaitS) {}

    private static final long EVENTS_WAIT_MILLIS = 60_000;

    private long mapTaskMillis;
    private long reduceTaskCpuNanos;
    private long fetchWaitMillis;

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
        TaskMetrics metrics = end.taskMetrics();
        if (end.taskType().equals("ShuffleMapTask")) {
            mapTaskMillis += metrics.executorRunTime();
        } else {
            reduceTaskCpuNanos += metrics.executorCpuTime();
            fetchWaitMillis += metrics.shuffleReadMetrics().fetchWaitTime();
        }
    }

    /** All tasks since the last call. */
    Sums takeFrom(SparkContext context) {
        try {
            context.listenerBus().waitUntilEmpty(EVENTS_WAIT_MILLIS);
        } catch (java.util.concurrent.TimeoutException e) {
            throw new IllegalStateException("Spark did not tell of its tasks within " + EVENTS_WAIT_MILLIS + " ms", e);
        }
        synchronized (this) {
            Sums sums = new Sums(mapTaskMillis / 1e3, reduceTaskCpuNanos / 1e9, fetchWaitMillis / 1e3);
            mapTaskMillis = 0;
            reduceTaskCpuNanos = 0;
            fetchWaitMillis = 0;
            return sums;
        }
    }
}
