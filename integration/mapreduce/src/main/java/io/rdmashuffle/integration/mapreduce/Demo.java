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
 * {@code Demo ROOT CLASS-PATH OUT STOCK WORK HOST,HOST ROWS COMMAND [NAME=VALUE…]}; the rest are settings of the jobs with our shuffle. STOCK has
 * the inputs and the outputs with Hadoop's shuffle; unless it is OUT, an earlier run left them there. Exit code 0 only if all outputs are equal.
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
    private final Path stock;
    private final Map<String, String> ourSettings = new HashMap<>();
    private final List<DemoOutcome.Comparison> compared = new ArrayList<>();

    private Demo(MiniCluster cluster, Path out, Path stock, List<String> settings) {
        this.cluster = cluster;
        this.out = out;
        this.stock = stock;
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            ourSettings.put(parts[0], parts[1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path out = Path.of(arguments[2]);
        Path stock = Path.of(arguments[3]);
        String[] hosts = arguments[5].split(",");
        long rows = Long.parseLong(arguments[6]);
        List<String> settings = List.of(arguments).subList(8, arguments.length);
        Map<String, String> environment = System.getenv().entrySet().stream()
                .filter(variable -> TASK_ENVIRONMENT.contains(variable.getKey()))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        System.setOut(System.err); // TeraSort talks
        DemoOutcome outcome;
        try (MiniCluster cluster = new MiniCluster(
                Path.of(arguments[0]),
                arguments[1],
                Path.of(arguments[4]),
                out.resolve("logs"),
                hosts[0],
                environment)) {
            say("starting a YARN cluster with NodeManagers on " + arguments[5]);
            cluster.start();
            for (String host : hosts) {
                cluster.startNode(host, Map.of());
            }
            cluster.awaitNodes();
            Demo demo = new Demo(cluster, out, stock, settings);
            demo.wordCount(rows);
            demo.teraSort(rows);
            outcome = demo.outcome(arguments[7]);
        }
        outcome.write(out.resolve("demo.json"));
        CONSOLE.print(outcome.text());
        CONSOLE.flush();
        System.exit(outcome.resultsEqual() ? 0 : 1);
    }

    private void wordCount(long rows) throws Exception {
        Path input = stock.resolve("text");
        if (runsStock()) {
            writeText(Files.createDirectories(input), (int) rows / 4);
        }
        compare("WordCount", (conf, output) -> {
            Job job = WordCount.job(conf, hadoop(input), output, 2);
            if (!job.waitForCompletion(false)) {
                throw new IllegalStateException(
                        "WordCount failed: " + job.getStatus().getFailureInfo());
            }
            return job;
        });
    }

    private static void writeText(Path directory, int lines) throws IOException {
        for (int file = 0; file < 2; file++) {
            Random random = new Random(file);
            Files.write(directory.resolve("part" + file), (Iterable<String>) IntStream.range(0, lines)
                    .mapToObj(line -> random.ints(WORDS_PER_LINE, 0, 50_000)
                            .mapToObj(word -> "word" + word)
                            .collect(Collectors.joining(" ")))::iterator);
        }
    }

    private void teraSort(long rows) throws Exception {
        Path input = stock.resolve("tera");
        if (runsStock()) {
            say("TeraGen");
            Tera.generate(inThisProcess(), rows, 2, hadoop(input));
        }
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

    private boolean runsStock() {
        return stock.equals(out);
    }

    private void compare(String name, Run job) throws Exception {
        Path stockOutput = stock.resolve(name + "-stock");
        Path ourOutput = out.resolve(name + "-rdma");
        Double stockSeconds = null;
        if (runsStock()) {
            say(name + " with Hadoop's shuffle");
            long start = System.nanoTime();
            job.run(cluster.jobSettings(), hadoop(stockOutput));
            stockSeconds = (System.nanoTime() - start) / 1e9;
        }
        say(name + " with ours");
        Configuration ours = cluster.ourJobSettings();
        ourSettings.forEach(ours::set);
        long start = System.nanoTime();
        Job ran = job.run(ours, hadoop(ourOutput));
        double ourSeconds = (System.nanoTime() - start) / 1e9;
        CounterGroup counters = ran.getCounters().getGroup("RDMA shuffle");
        compared.add(new DemoOutcome.Comparison(
                name,
                ran.getCounters().findCounter(TaskCounter.REDUCE_OUTPUT_RECORDS).getValue(),
                equal(stockOutput, ourOutput),
                stockSeconds,
                ourSeconds,
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
