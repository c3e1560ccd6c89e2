package io.rdmashuffle.integration.yarn;

import io.rdmashuffle.spark.ApplicationReport;
import io.rdmashuffle.spark.RdmaShuffle;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Tuple2;

/**
 * A shuffle whose map outputs were written by executors that are gone when they are read: dynamic allocation releases them once they
 * are idle, and others come for the reduce side. Writes what it saw to the properties file that its argument names.
 */
public final class ReleasedExecutorsJob {

    private static final int KEYS = 2000;
    private static final int VALUES = 200_000;
    private static final int MAPS = 6;
    private static final int REDUCES = 5;
    private static final long EVENTS_WAIT_MILLIS = 60_000;
    private static final Duration RELEASE_LIMIT = Duration.ofSeconds(60);

    private ReleasedExecutorsJob() {}

    public static void main(String[] args) throws IOException, InterruptedException, TimeoutException {
        SparkConf conf = new SparkConf();
        Watch watch = new Watch();
        Properties seen = new Properties();
        try (JavaSparkContext context = new JavaSparkContext(conf)) {
            context.sc().addSparkListener(watch);
            JavaPairRDD<Integer, Long> sums = context.parallelize(
                            IntStream.range(0, VALUES).boxed().toList(), MAPS)
                    .mapToPair(i -> new Tuple2<>(i % KEYS, (long) i))
                    .groupByKey(REDUCES)
                    .mapValues(ReleasedExecutorsJob::sum);
            sums.count(); // writes the map outputs, which later jobs use again
            awaitRelease(context);
            context.sc().listenerBus().waitUntilEmpty(EVENTS_WAIT_MILLIS);
            Set<String> writers = new TreeSet<>(watch.writers);
            int mapTasks = watch.mapTasks.get();
            watch.readers.clear(); // those of the first job
            boolean ours = conf.get("spark.shuffle.manager", "sort").contains("Rdma");
            ApplicationReport before = ours ? RdmaShuffle.report() : null;
            seen.setProperty("sums", new TreeMap<>(sums.collectAsMap()).toString());
            context.sc().listenerBus().waitUntilEmpty(EVENTS_WAIT_MILLIS);
            seen.setProperty("writers", writers.toString());
            seen.setProperty("mapTasksAgain", String.valueOf(watch.mapTasks.get() - mapTasks));
            if (ours) {
                ApplicationReport after = RdmaShuffle.report();
                seen.setProperty("rdmaBytes", String.valueOf(after.rdmaBytes() - before.rdmaBytes()));
                seen.setProperty("tcpBytes", String.valueOf(after.tcpBytes() - before.tcpBytes()));
                seen.setProperty("fallbacks", after.fallbacks().toString());
            }
            Set<String> readers = new TreeSet<>(watch.readers);
            readers.removeAll(writers);
            seen.setProperty("readers", readers.toString());
        }
        try (OutputStream out = Files.newOutputStream(Path.of(args[0]))) {
            seen.store(out, null);
        }
    }

    private static long sum(Iterable<Long> values) {
        long sum = 0;
        for (long value : values) {
            sum += value;
        }
        return sum;
    }

    private static void awaitRelease(JavaSparkContext context) throws InterruptedException, TimeoutException {
        long deadline = System.nanoTime() + RELEASE_LIMIT.toNanos();
        while (context.statusTracker().getExecutorInfos().length > 1) { // one is the driver
            if (System.nanoTime() - deadline > 0) {
                throw new TimeoutException("the executors were not released");
            }
            Thread.sleep(100);
        }
    }

    private static final class Watch extends SparkListener {

        private final Set<String> writers = new ConcurrentSkipListSet<>();
        private final Set<String> readers = new ConcurrentSkipListSet<>();
        private final AtomicInteger mapTasks = new AtomicInteger();

        @Override
        public void onTaskEnd(SparkListenerTaskEnd event) {
            boolean writes = event.taskType().equals("ShuffleMapTask");
            (writes ? writers : readers).add(event.taskInfo().executorId());
            if (writes) {
                mapTasks.incrementAndGet();
            }
        }
    }
}
