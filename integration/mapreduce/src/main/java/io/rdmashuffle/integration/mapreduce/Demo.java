package io.rdmashuffle.integration.mapreduce;

import io.rdmashuffle.verbs.Rdma;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.CounterGroup;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.TaskCounter;

/**
 * WordCount and TeraSort on a YARN cluster of two NodeManagers, once with Hadoop's shuffle and once with ours, compared byte by byte:
 * {@code Demo ROOT CLASS-PATH OUT WORK HOST,HOST ROWS COMMAND [NAME=VALUE…]}; the rest are settings of the jobs with our shuffle. Exit code 0 only if
 * all outputs are equal.
 */
public final class Demo {

    private static final PrintStream CONSOLE = System.out;
    /** Where the RDMA libraries are, and what the lab wants of every JVM. */
    private static final Set<String> TASK_ENVIRONMENT = Set.of("LD_LIBRARY_PATH", "JDK_JAVA_OPTIONS");

    private static final int WORDS_PER_LINE = 10;

    private interface Run {
        Job run(Configuration conf, org.apache.hadoop.fs.Path output) throws Exception;
    }

    private final MiniCluster cluster;
    private final Path out;
    private final Map<String, String> ourSettings = new HashMap<>();
    private final List<DemoOutcome.Comparison> compared = new ArrayList<>();

    private Demo(MiniCluster cluster, Path out, List<String> settings) {
        this.cluster = cluster;
        this.out = out;
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            ourSettings.put(parts[0], parts[1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path out = Path.of(arguments[2]);
        String[] hosts = arguments[4].split(",");
        long rows = Long.parseLong(arguments[5]);
        List<String> settings = List.of(arguments).subList(7, arguments.length);
        Map<String, String> environment = System.getenv().entrySet().stream()
                .filter(variable -> TASK_ENVIRONMENT.contains(variable.getKey()))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        System.setOut(System.err); // TeraSort talks
        DemoOutcome outcome;
        try (MiniCluster cluster = new MiniCluster(
                Path.of(arguments[0]),
                arguments[1],
                Path.of(arguments[3]),
                out.resolve("logs"),
                hosts[0],
                environment)) {
            say("starting a YARN cluster with NodeManagers on " + arguments[4]);
            cluster.start();
            for (String host : hosts) {
                cluster.startNode(host, Map.of());
            }
            cluster.awaitNodes();
            Demo demo = new Demo(cluster, out, settings);
            demo.wordCount(rows);
            demo.teraSort(rows);
            outcome = demo.outcome(arguments[6]);
        }
        outcome.write(out.resolve("demo.json"));
        CONSOLE.print(outcome.text());
        CONSOLE.flush();
        System.exit(outcome.resultsEqual() ? 0 : 1);
    }

    private void wordCount(long rows) throws Exception {
        Path input = Files.createDirectories(out.resolve("text"));
        for (int file = 0; file < 2; file++) {
            Random random = new Random(file);
            Files.write(input.resolve("part" + file), (Iterable<String>) IntStream.range(0, (int) rows / 4)
                    .mapToObj(line -> random.ints(WORDS_PER_LINE, 0, 50_000)
                            .mapToObj(word -> "word" + word)
                            .collect(Collectors.joining(" ")))::iterator);
        }
        compare("WordCount", (conf, output) -> {
            Job job = WordCount.job(conf, hadoop(input), output, 4);
            if (!job.waitForCompletion(false)) {
                throw new IllegalStateException(
                        "WordCount failed: " + job.getStatus().getFailureInfo());
            }
            return job;
        });
    }

    private void teraSort(long rows) throws Exception {
        Path input = out.resolve("tera");
        say("TeraGen");
        Tera.generate(inThisProcess(), rows, 2, hadoop(input));
        compare("TeraSort", (conf, output) -> Tera.sort(conf, hadoop(input), output, 2));
        say("TeraValidate");
        Tera.validate(inThisProcess(), hadoop(out.resolve("TeraSort-rdma")), hadoop(out.resolve("TeraValidate")));
    }

    /** Settings of jobs that are not compared: in this process they are done sooner. */
    private Configuration inThisProcess() {
        Configuration settings = cluster.jobSettings();
        settings.set(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME);
        return settings;
    }

    private void compare(String name, Run job) throws Exception {
        Path stockOutput = out.resolve(name + "-stock");
        Path ourOutput = out.resolve(name + "-rdma");
        say(name + " with Hadoop's shuffle");
        long start = System.nanoTime();
        job.run(cluster.jobSettings(), hadoop(stockOutput));
        long between = System.nanoTime();
        say(name + " with ours");
        Configuration ours = cluster.ourJobSettings();
        ourSettings.forEach(ours::set);
        Job ran = job.run(ours, hadoop(ourOutput));
        long end = System.nanoTime();
        CounterGroup counters = ran.getCounters().getGroup("RDMA shuffle");
        compared.add(new DemoOutcome.Comparison(
                name,
                ran.getCounters().findCounter(TaskCounter.REDUCE_OUTPUT_RECORDS).getValue(),
                equal(stockOutput, ourOutput),
                (between - start) / 1e9,
                (end - between) / 1e9,
                new DemoOutcome.Bytes(
                        counters.findCounter("RDMA_BYTES").getValue(),
                        counters.findCounter("HTTP_BYTES").getValue()),
                fallbacks(counters)));
    }

    private static Map<String, Long> fallbacks(CounterGroup counters) {
        Map<String, Long> fallbacks = new TreeMap<>();
        for (Counter counter : counters) {
            if (counter.getName().startsWith("FALLBACK_")) {
                fallbacks.put(counter.getName().substring("FALLBACK_".length()), counter.getValue());
            }
        }
        return fallbacks;
    }

    private DemoOutcome outcome(String command) {
        if (!Rdma.isAvailable()) {
            return DemoOutcome.of(command, compared, "", Rdma.unavailabilityCause());
        }
        String whyNot = "off".equals(ourSettings.get("mapreduce.shuffle.rdma.mode"))
                ? "mapreduce.shuffle.rdma.mode is off"
                : "of the fallbacks";
        return DemoOutcome.of(command, compared, Rdma.devices().get(0).name(), whyNot);
    }

    private static boolean equal(Path left, Path right) throws IOException {
        List<Path> parts = parts(left);
        if (!parts.equals(parts(right))) {
            return false;
        }
        for (Path part : parts) {
            if (Files.mismatch(left.resolve(part), right.resolve(part)) >= 0) {
                return false;
            }
        }
        return true;
    }

    private static List<Path> parts(Path output) throws IOException {
        try (Stream<Path> files = Files.list(output)) {
            return files.map(Path::getFileName)
                    .filter(name -> name.toString().startsWith("part-"))
                    .sorted()
                    .toList();
        }
    }

    private static org.apache.hadoop.fs.Path hadoop(Path path) {
        return new org.apache.hadoop.fs.Path(path.toUri());
    }

    private static void say(String what) {
        CONSOLE.println(what);
    }
}
