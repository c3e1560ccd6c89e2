package io.rdmashuffle.integration.bench;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Sums up what Spark measures of tasks. */
final class TaskTimes extends SparkListener {

    /**
     * In seconds.
     *
     * @param mapTasksS of each map task, in the order in which they ended
     */
    record Sums(List<Double> mapTasksS, double reduceTaskCpuS, double fetchWaitS) {}

    private static final long EVENTS_WAIT_MILLIS = 60_000;

    private final List<Double> mapTasksS = new ArrayList<>();
    private long reduceTaskCpuNanos;
    private long fetchWaitMillis;

    @Override
    public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
        TaskMetrics metrics = end.taskMetrics();
        if (end.taskType().equals("ShuffleMapTask")) {
            mapTasksS.add(metrics.executorRunTime() / 1e3);
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
            Sums sums = new Sums(List.copyOf(mapTasksS), reduceTaskCpuNanos / 1e9, fetchWaitMillis / 1e3);
            mapTasksS.clear();
            reduceTaskCpuNanos = 0;
            fetchWaitMillis = 0;
            return sums;
        }
    }
}
