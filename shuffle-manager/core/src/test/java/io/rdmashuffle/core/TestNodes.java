package io.rdmashuffle.core;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.config.Subnet;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.Directory;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.DriverChannel;
import io.rdmashuffle.core.directory.LocationTable;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.directory.MessageCodec;
import io.rdmashuffle.core.memory.PinnedShares;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.verbs.Rdma;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.UnaryOperator;

/**
 * Nodes of one application in this JVM, with a directory that answers at once. They run on softverbs, or on the real device behind
 * the address in RDMA_SHUFFLE_TEST_ADDRESS.
 */
final class TestNodes implements AutoCloseable {

    /** How the driver behaves from now on. */
    enum Driver {
        ANSWERS,
        SILENT,
        REFUSES,
        ANSWERS_GARBAGE,
        /** It does what it is asked, yet its answer is lost. */
        ANSWER_IS_LOST
    }

    private static final String PREFIX = "test.";
    private static final String HOST = System.getenv().getOrDefault("RDMA_SHUFFLE_TEST_ADDRESS", "127.0.0.1");
    private static final int DIRECTORY_TIMEOUT_MILLIS = 500;
    private static final Path FAULTS = Path.of(System.getenv().getOrDefault("SOFTVERBS_FAULTS_FILE", "/nonexistent"));

    final Directory directory = new Directory();

    /** What a node announces, as it reaches the directory. */
    UnaryOperator<List<InetSocketAddress>> announced = UnaryOperator.identity();

    /** What nodes that are opened from now on authenticate with. */
    byte[] engineSecret = {};

    private final List<RdmaNode> nodes = new ArrayList<>();
    private final Path folder;
    private long incarnations = 1000;
    volatile Driver driver = Driver.ANSWERS;

    TestNodes(Path folder) {
        assertTrue(Rdma.isAvailable(), Rdma::unavailabilityCause);
        this.folder = folder;
    }

    /** @param settings name, value, name, value … */
    RdmaNode open(String executorId, Counters counters, String... settings) throws RdmaUnavailableException {
        return openAt(List.of(HOST), executorId, counters, settings);
    }

    /** The same on the devices behind other addresses, each taken for the only one of its subnet. */
    RdmaNode openAt(List<String> addresses, String executorId, Counters counters, String... settings)
            throws RdmaUnavailableException {
        long incarnation = ++incarnations;
        return kept(RdmaNode.open(
                executorId, incarnation, locals(addresses), client(incarnation), config(settings), counters));
    }

    /** A process that serves what executors wrote; the caller closes it. */
    static MapOutputServer openServer(byte[] secret, Counters counters, String... settings)
            throws RdmaUnavailableException {
        RdmaConfig config = config(settings);
        return MapOutputServer.open(locals(List.of(HOST)), secret, PinnedShares.of(config), config, counters);
    }

    /** The same as an engine opens it, on what this host has. */
    RdmaNode openOnHost(String host, String executorId, Counters counters, String... settings)
            throws RdmaUnavailableException {
        long incarnation = ++incarnations;
        return kept(RdmaNode.open(executorId, incarnation, host, client(incarnation), config(settings), counters));
    }

    /** Commits a map output of random bytes, as an engine would, and publishes it. */
    byte[] publish(RdmaNode node, int shuffleId, long mapId, long... partitionLengths) throws IOException {
        byte[] bytes = new byte[(int) Arrays.stream(partitionLengths).sum()];
        new Random(mapId).nextBytes(bytes);
        Path file = folder.resolve("shuffle_" + shuffleId + "_" + mapId + "_0.data");
        Files.write(file, bytes);
        publish(node, shuffleId, mapId, file, partitionLengths);
        return bytes;
    }

    /** Publishes and waits for the driver's answer. */
    static void publish(RdmaNode node, int shuffleId, long mapId, Path file, long... partitionLengths)
            throws NotPublishedException {
        try {
            node.publisher().publish(shuffleId, mapId, file, partitionLengths).join();
        } catch (CompletionException e) {
            throw NotPublishedException.of(e);
        }
    }

    /** Says in the directory that the published data files of a shuffle are shorter than they are. */
    void shorten(int shuffleId, long dataBytes) throws IOException {
        LocationTable outputs = locations(shuffleId);
        for (int row : outputs.rows().toArray()) {
            MapOutputLocation location = outputs.location(row);
            MapOutputLocation shorter = new MapOutputLocation(
                    location.mapId(),
                    location.placement(),
                    location.dataAddress(),
                    location.dataRkey(),
                    dataBytes,
                    location.offsetsAddress(),
                    location.offsetsRkey(),
                    location.partitions());
            directory.handle(MessageCodec.encode(
                    new Message.Publish(shuffleId, outputs.owner(row).incarnation(), shorter)));
        }
    }

    /** What the directory answers who asks for a shuffle. */
    LocationTable locations(int shuffleId) throws MalformedMessageException {
        byte[] answer = directory.handle(MessageCodec.encode(new Message.Locate(shuffleId)));
        return ((Message.Locations) MessageCodec.decode(answer)).outputs();
    }

    /** Scripts what softverbs does wrong from now on; the language is explained in softverbs' README. */
    static void inject(String script) throws IOException {
        assumeTrue(System.getenv("RDMA_SHUFFLE_TEST_ADDRESS") == null, "needs softverbs: scripted faults");
        Path next = FAULTS.resolveSibling(FAULTS.getFileName() + ".next");
        Files.writeString(next, script);
        Files.move(next, FAULTS, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
    }

    static void clearFaults() throws IOException {
        Files.deleteIfExists(FAULTS);
    }

    @Override
    public void close() throws IOException {
        clearFaults();
        nodes.forEach(RdmaNode::close);
    }

    private DriverChannel channel() {
        return new DriverChannel() {
            @Override
            public CompletableFuture<byte[]> ask(byte[] message) {
                try {
                    Message decoded = MessageCodec.decode(message);
                    byte[] passedOn = decoded instanceof Message.Hello hello ? reannounced(hello) : message;
                    return switch (driver) {
                        case ANSWERS -> CompletableFuture.completedFuture(directory.handle(passedOn));
                        case SILENT -> new CompletableFuture<>();
                        case REFUSES -> CompletableFuture.failedFuture(new IOException("the driver is gone"));
                        case ANSWERS_GARBAGE -> CompletableFuture.completedFuture(new byte[] {1, 99, 7});
                        case ANSWER_IS_LOST -> {
                            directory.handle(passedOn);
                            yield new CompletableFuture<>();
                        }
                    };
                } catch (MalformedMessageException e) {
                    return CompletableFuture.failedFuture(e);
                }
            }

            @Override
            public void send(byte[] message) {
                ask(message);
            }
        };
    }

    private static List<LocalAddress> locals(List<String> addresses) {
        return addresses.stream()
                .map(Subnet::parse)
                .map(subnet -> new LocalAddress(subnet.address(), "test", subnet))
                .toList();
    }

    private RdmaNode kept(RdmaNode node) {
        nodes.add(node);
        return node;
    }

    private DirectoryClient client(long incarnation) {
        return new DirectoryClient(channel(), incarnation, DIRECTORY_TIMEOUT_MILLIS, engineSecret);
    }

    private static RdmaConfig config(String... settings) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < settings.length; i += 2) {
            given.put(PREFIX + settings[i], settings[i + 1]);
        }
        return new RdmaConfig(PREFIX, given);
    }

    private byte[] reannounced(Message.Hello hello) {
        Owner owner = new Owner(
                hello.executorId(),
                hello.incarnation(),
                announced.apply(hello.owner().addresses()));
        return MessageCodec.encode(
                new Message.Hello(hello.executorId(), hello.incarnation(), owner, hello.device(), hello.cause()));
    }
}
