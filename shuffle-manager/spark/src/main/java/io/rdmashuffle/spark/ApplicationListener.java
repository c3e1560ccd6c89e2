package io.rdmashuffle.spark;

import io.rdmashuffle.core.directory.Directory;
import io.rdmashuffle.core.metrics.Metric;
import io.rdmashuffle.core.metrics.Snapshot;
import io.rdmashuffle.spark.ui.ShuffleReport;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.spark.scheduler.LiveListenerBus;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorRemoved;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.scheduler.SparkListenerTaskStart;

/**
 * On the driver: tells the directory of lost executors and started tasks, and posts a {@link ShuffleReport} of the executors that have
 * something new whenever a stage or job ends, for the event log and the UI. On the listener bus' thread.
 */
final class ApplicationListener extends SparkListener {

    private final LiveListenerBus bus;
    private final Directory directory;
    private final Supplier<ApplicationReport> report;
    private final Map<String, ExecutorTransport> posted = new HashMap<>();

    ApplicationListener(LiveListenerBus bus, Directory directory, Supplier<ApplicationReport> report) {
        this.bus = bus;
        this.directory = directory;
        this.report = report;
    }

    @Override
    public void onExecutorRemoved(SparkListenerExecutorRemoved event) {
        directory.removeExecutor(event.executorId());
    }

    @Override
    public void onTaskStart(SparkListenerTaskStart event) {
        directory.taskStarted(event.taskInfo().taskId());
    }

    @Override
    public void onStageCompleted(SparkListenerStageCompleted event) {
        postNews();
    }

    @Override
    public void onJobEnd(SparkListenerJobEnd event) {
        postNews();
    }

    /** What the application's executors report now, as one report or none. */
    static List<ShuffleReport> reports(Map<String, ExecutorTransport> executors) {
        if (executors.isEmpty()) {
            return List.of();
        }
        Map<String, ShuffleReport.Executor> reported = new TreeMap<>();
        executors.forEach((id, executor) -> reported.put(
                id, new ShuffleReport.Executor(executor.device(), executor.reason(), named(executor.figures()))));
        return List.of(new ShuffleReport(System.currentTimeMillis(), reported));
    }

    private void postNews() {
        Map<String, ExecutorTransport> news = new HashMap<>(report.get().executors());
        news.entrySet().removeIf(executor -> executor.getValue().equals(posted.get(executor.getKey())));
        posted.putAll(news);
        reports(news).forEach(bus::post);
    }

    private static Map<String, Long> named(Snapshot figures) {
        Map<String, Long> named = new TreeMap<>();
        for (Metric metric : Metric.ALL) {
            if (metric.of(figures) != 0) {
                named.put(metric.name(), metric.of(figures));
            }
        }
        return named;
    }
}
