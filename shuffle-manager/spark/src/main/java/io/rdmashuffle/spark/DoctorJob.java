package io.rdmashuffle.spark;

import io.rdmashuffle.core.doctor.ClusterReport;
import io.rdmashuffle.core.doctor.Doctor;
import io.rdmashuffle.core.doctor.EngineSettings;
import io.rdmashuffle.core.doctor.Report;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * The doctor as a Spark job: {@code spark-submit --class io.rdmashuffle.spark.DoctorJob JAR [--json FILE]} examines each executor
 * from within, with its limits, its container and its settings, and prints one table. Exit codes are the doctor's.
 */
public final class DoctorJob {

    private static final int MOST_ROUNDS = 10;
    private static final int TASKS_PER_CORE = 4;

    private static String[] examined; // of this executor; under the class's lock

    private DoctorJob() {}

    public static void main(String[] arguments) throws IOException {
        List<String> options = List.of(arguments);
        if (!options.isEmpty() && !(options.size() == 2 && options.get(0).equals("--json"))) {
            System.err.println("usage: spark-submit --class io.rdmashuffle.spark.DoctorJob JAR [--json FILE]");
            System.exit(2);
        }
        ClusterReport report;
        SparkConf conf = new SparkConf().setIfMissing("spark.app.name", "rdma-shuffle doctor");
        try (JavaSparkContext context = new JavaSparkContext(conf)) {
            report = examineAll(context);
        }
        report.print(System.out);
        if (!options.isEmpty()) {
            Files.writeString(Path.of(options.get(1)), report.toJson() + "\n");
        }
        System.exit(report.usable() ? 0 : 3);
    }

    /** Gives every core some tasks until each executor that the driver knows has answered. */
    public static ClusterReport examineAll(JavaSparkContext context) {
        ClusterReport report = new ClusterReport();
        for (int round = 0; round < MOST_ROUNDS; round++) {
            int tasks = TASKS_PER_CORE * context.defaultParallelism();
            context.parallelize(Collections.nCopies(tasks, 0), tasks)
                    .map(any -> examineOnce())
                    .collect()
                    .forEach(report::add);
            int executors = context.statusTracker().getExecutorInfos().length - 1; // the driver is listed too
            if (report.size() >= executors) {
                break;
            }
        }
        return report;
    }

    /** On an executor, whose other tasks wait for the first. */
    private static synchronized String[] examineOnce() {
        if (examined == null) {
            SparkEnv env = SparkEnv.get();
            String host = env.blockManager().blockManagerId().host();
            Report report = Doctor.examine(host, settings(env), finding -> {});
            examined = ClusterReport.row(env.executorId(), host, report);
        }
        return examined;
    }

    private static EngineSettings settings(SparkEnv env) {
        Map<String, String> values = new HashMap<>();
        for (Tuple2<String, String> setting : env.conf().getAll()) {
            values.put(setting._1(), setting._2());
        }
        List<Path> directories = Stream.of(env.blockManager().diskBlockManager().localDirs())
                .map(File::toPath)
                .toList();
        return new EngineSettings("the application's settings", values, directories);
    }
}
