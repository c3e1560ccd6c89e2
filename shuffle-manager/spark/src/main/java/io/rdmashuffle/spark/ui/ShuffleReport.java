package io.rdmashuffle.spark.ui;

import java.util.Map;
import org.apache.spark.scheduler.SparkListenerEvent;

/**
 * What the executors have shuffled up to a moment, as it stands in the event log. A history server that has not our jar skips it.
 *
 * @param timeMillis since the epoch
 * @param executors by executor id; those that have nothing new since the report before are left out
 */
public record ShuffleReport(long timeMillis, Map<String, Executor> executors) implements SparkListenerEvent {

    /**
     * One executor.
     *
     * @param device name of its RDMA device; empty when it has none
     * @param reason why it has no RDMA; empty when it has
     * @param figures values by metric name since the start of the executor, without zeros
     */
    public record Executor(String device, String reason, Map<String, Long> figures) {

        long figure(String metric) {
            return figures.getOrDefault(metric, 0L);
        }
    }
}
