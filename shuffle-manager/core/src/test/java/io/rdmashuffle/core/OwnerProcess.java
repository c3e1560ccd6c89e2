package io.rdmashuffle.core;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.config.Subnet;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.directory.Directory;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.DriverChannel;
import io.rdmashuffle.core.metrics.Counters;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * An owner in a process of its own, to be stopped and killed. What it has to say to the driver's directory, which lives in the test,
 * goes line by line over its standard output and input, as do the test's commands.
 */
final class OwnerProcess implements AutoCloseable {

    private static final int DIRECTORY_TIMEOUT_MILLIS = 10_000;

    private final Process process;
    private final PrintStream commands;
    private final BlockingQueue<String> said = new LinkedBlockingQueue<>();

    /** @param incarnation identity of this life of the executor */
    OwnerProcess(Directory directory, String executorId, long incarnation) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                OwnerProcess.class.getName(),
                executorId,
                Long.toString(incarnation));
        process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        commands = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread listener = new Thread(() -> listen(directory), "owner-process");
        listener.setDaemon(true);
        listener.start();
        expect("open");
    }

    /** Publishes a committed data file. */
    void publish(int shuffleId, long mapId, Path file, long... partitionLengths) {
        String lengths = Arrays.toString(partitionLengths).replaceAll("[\\[\\] ]", "");
        command("publish " + shuffleId + " " + mapId + " " + lengths + " " + file);
    }

    void removeShuffle(int shuffleId) {
        command("remove " + shuffleId);
    }

    /** Closes the node; the process lives on. */
    void closeNode() {
        command("close");
    }

    /** Ends as a process does that has no more to do. */
    void exit() throws InterruptedException {
        commands.println("exit");
        process.waitFor();
    }

    /** @param name such as STOP, CONT, KILL */
    void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                .start()
                .waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly().onExit().join();
    }

    private void command(String command) {
        commands.println(command);
        expect("done");
    }

    private void expect(String word) {
        try {
            String line = said.poll(60, TimeUnit.SECONDS);
            if (!word.equals(line)) {
                throw new AssertionError("the owner says " + line + " instead of " + word);
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void listen(Directory directory) {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                switch (words[0]) {
                    case "ask" ->
                        commands.println("answer "
                                + HexFormat.of()
                                        .formatHex(
                                                directory.handle(HexFormat.of().parseHex(words[1]))));
                    case "send" -> directory.handle(HexFormat.of().parseHex(words[1]));
                    default -> said.add(line);
                }
            }
        } catch (MalformedMessageException e) {
            said.add(e.getMessage());
        } catch (IOException e) {
            said.add("nothing any more, it is closed");
        }
    }

    // what follows runs in the process

    public static void main(String[] args) throws Exception {
        Queue<CompletableFuture<byte[]>> asked = new ArrayDeque<>();
        DriverChannel channel = new DriverChannel() {
            @Override
            public CompletableFuture<byte[]> ask(byte[] message) {
                CompletableFuture<byte[]> answer = new CompletableFuture<>();
                synchronized (asked) {
                    asked.add(answer);
                    System.out.println("ask " + HexFormat.of().formatHex(message));
                }
                return answer;
            }

            @Override
            public void send(byte[] message) {
                System.out.println("send " + HexFormat.of().formatHex(message));
            }
        };
        ExecutorService worker = Executors.newSingleThreadExecutor();
        CompletableFuture<RdmaNode> node = CompletableFuture.supplyAsync(() -> open(channel, args), worker);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null && !line.equals("exit"); line = lines.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("answer")) {
                synchronized (asked) {
                    asked.remove().complete(HexFormat.of().parseHex(words[1]));
                }
            } else {
                worker.execute(() -> obey(node.join(), words));
            }
        }
        System.exit(0);
    }

    private static RdmaNode open(DriverChannel channel, String[] args) {
        try {
            long incarnation = Long.parseLong(args[1]);
            Subnet host = Subnet.parse(System.getenv().getOrDefault("RDMA_SHUFFLE_TEST_ADDRESS", "127.0.0.1"));
            RdmaNode node = RdmaNode.open(
                    args[0],
                    incarnation,
                    List.of(new LocalAddress(host.address(), "test", host)),
                    new DirectoryClient(channel, incarnation, DIRECTORY_TIMEOUT_MILLIS),
                    new RdmaConfig("test.", Map.of()),
                    new Counters());
            System.out.println("open");
            return node;
        } catch (RdmaUnavailableException e) {
            System.out.println(e);
            throw new IllegalStateException(e);
        }
    }

    private static void obey(RdmaNode node, String[] words) {
        switch (words[0]) {
            case "publish" -> publish(node, words);
            case "remove" -> node.removeShuffle(Integer.parseInt(words[1]));
            case "close" -> node.close();
            default -> throw new IllegalArgumentException(words[0]);
        }
        System.out.println("done");
    }

    private static void publish(RdmaNode node, String[] words) {
        long[] lengths =
                Arrays.stream(words[3].split(",")).mapToLong(Long::parseLong).toArray();
        try {
            TestNodes.publish(node, Integer.parseInt(words[1]), Long.parseLong(words[2]), Path.of(words[4]), lengths);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
