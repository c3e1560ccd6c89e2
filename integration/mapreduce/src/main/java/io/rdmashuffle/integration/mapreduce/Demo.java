package io.rdmashuffle.integration.mapreduce;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import io.rdmashuffle.verbs.Rdma;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Job;

/**
 * WordCount and TeraSort on a YARN cluster of two NodeManagers, once with Hadoop's shuffle and once with ours, compared byte by byte:
 * {@code Demo ROOT VERSION OUT HOST,HOST ROWS [NAME=VALUE…]}; the rest are settings of the jobs with our shuffle. Exit code 0 only if
 * all outputs are equal.
 */
public final class Demo {

    private static final String PLUGIN = "mapreduce.job.reduce.shuffle.consumer.plugin.class";
    private static final String OURS = "io.rdmashuffle.mapreduce.RdmaShuffleConsumer";
    private static final int WORDS_PER_LINE = 10;

    /** One job under both shuffles; {@code sort_s} is the stock one's time, as for Spark. */
    record Compared(String name, long rows, boolean equal, double sortS, double rdmaS) {}

    record Bytes(long rdma, long tcp) {}

    /** What {@code bin/demo --json} promises. */
    record Result(
            boolean resultsEqual,
            String transport,
            String transportReason,
            List<Compared> queries,
            Bytes bytes,
            Map<String, Long> fallbacks) {}

    private interface Run {
        Job run(Configuration conf, org.apache.hadoop.fs.Path output) throws Exception;
    }

    private final MiniCluster cluster;
    private final Path out;
    private final Map<String, String> ourSettings = new HashMap<>();
    private final List<Compared> compared = new ArrayList<>();
    private final Map<String, Long> counted = new TreeMap<>();

    private Demo(MiniCluster cluster, Path out, List<String> settings) {
        this.cluster = cluster;
        this.out = out;
        ourSettings.put(PLUGIN, OURS);
        for (String setting : settings) {
            String[] parts = setting.split("=", 2);
            ourSettings.put(parts[0], parts[1]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path out = Path.of(arguments[2]);
        String[] hosts = arguments[3].split(",");
        long rows = Long.parseLong(arguments[4]);
        List<String> settings = List.of(arguments).subList(5, arguments.length);
        Map<String, String> environment = System.getenv().entrySet().stream()
                .filter(variable -> variable.getKey().equals("LD_LIBRARY_PATH"))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        Result result;
        try (MiniCluster cluster =
                new MiniCluster(Path.of(arguments[0]), arguments[1], out.resolve("cluster"), hosts[0], environment)) {
            say("starting a YARN cluster with NodeManagers on " + arguments[3]);
            cluster.start();
            for (String host : hosts) {
                cluster.startNode(host, Map.of());
            }
            Demo demo = new Demo(cluster, out, settings);
            demo.wordCount(rows);
            demo.teraSort(rows);
            result = demo.result();
        }
        new ObjectMapper()
                .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .writerWithDefaultPrettyPrinter()
                .writeValue(out.resolve("demo.json").toFile(), result);
        System.out.print(text(result));
        System.exit(result.resultsEqual ? 0 : 1);
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
        Tera.generate(cluster.jobSettings(), rows, 2, hadoop(input));
        compare("TeraSort", (conf, output) -> Tera.sort(conf, hadoop(input), output, 2));
        say("TeraValidate");
        Tera.validate(cluster.jobSettings(), hadoop(out.resolve("TeraSort-rdma")), hadoop(out.resolve("TeraValidate")));
    }

    private void compare(String name, Run job) throws Exception {
        Path stockOutput = out.resolve(name + "-stock");
        Path ourOutput = out.resolve(name + "-rdma");
        say(name + " with Hadoop's shuffle");
        long start = System.nanoTime();
        job.run(cluster.jobSettings(), hadoop(stockOutput));
        long between = System.nanoTime();
        say(name + " with ours");
        Configuration ours = cluster.jobSettings();
        ourSettings.forEach(ours::set);
        Job ran = job.run(ours, hadoop(ourOutput));
        long end = System.nanoTime();
        for (Counter counter : ran.getCounters().getGroup("RDMA shuffle")) {
            counted.merge(counter.getName(), counter.getValue(), Long::sum);
        }
        long rows = ran.getCounters()
                .findCounter(org.apache.hadoop.mapreduce.TaskCounter.REDUCE_OUTPUT_RECORDS)
                .getValue();
        compared.add(new Compared(
                name, rows, equal(stockOutput, ourOutput), (between - start) / 1e9, (end - between) / 1e9));
    }

    private Result result() {
        Map<String, Long> fallbacks = new TreeMap<>();
        counted.forEach((name, count) -> {
            if (name.startsWith("FALLBACK_")) {
                fallbacks.put(name.substring("FALLBACK_".length()), count);
            }
        });
        Bytes bytes = new Bytes(counted.getOrDefault("RDMA_BYTES", 0L), counted.getOrDefault("HTTP_BYTES", 0L));
        boolean rdma = bytes.rdma > 0;
        String reason = rdma
                ? "device " + Rdma.devices().get(0).name()
                : "off".equals(ourSettings.get("mapreduce.shuffle.rdma.mode"))
                        ? "mapreduce.shuffle.rdma.mode is off"
                        : Rdma.isAvailable() ? "of fallbacks " + fallbacks : Rdma.unavailabilityCause();
        return new Result(
                compared.stream().allMatch(Compared::equal), rdma ? "rdma" : "tcp", reason, compared, bytes, fallbacks);
    }

    private static String text(Result result) {
        StringBuilder text =
                new StringBuilder("%-10s %12s %6s %9s %9s%n".formatted("job", "rows", "equal", "stock s", "ours s"));
        for (Compared job : result.queries) {
            text.append("%-10s %,12d %6s %9.1f %9.1f%n"
                    .formatted(job.name, job.rows, job.equal ? "yes" : "NO", job.sortS, job.rdmaS));
        }
        text.append("%,d bytes by RDMA, %,d by HTTP; fallbacks: %s%n"
                .formatted(result.bytes.rdma, result.bytes.tcp, result.fallbacks));
        return text.append(
                        result.transport.equals("rdma")
                                ? "Transport: RDMA, by %s.%n".formatted(result.transportReason)
                                : "Transport: TCP, because %s.%n".formatted(result.transportReason))
                .toString();
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
        System.out.println(what);
    }
}
