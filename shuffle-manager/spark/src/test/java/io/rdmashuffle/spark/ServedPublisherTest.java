package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.RdmaNode;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.directory.Directory;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.DriverChannel;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.core.read.BlockListener;
import io.rdmashuffle.core.read.BlockRequest;
import io.rdmashuffle.spark.yarn.TestShuffleService;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.server.NoOpRpcHandler;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** From an executor that publishes by the shuffle service of its host, and leaves, to a reader; all on softverbs in this process. */
@Timeout(60)
class ServedPublisherTest {

    private static final ApplicationId APPLICATION = ApplicationId.newInstance(1, 1);
    private static final RdmaConfig CONFIG = new RdmaConfig("spark.shuffle.rdma.", Map.of());

    private final Directory directory = new Directory();
    private final DriverChannel driver = new DriverChannel() {
        @Override
        public CompletableFuture<byte[]> ask(byte[] message) {
            try {
                return CompletableFuture.completedFuture(directory.handle(message));
            } catch (MalformedMessageException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public void send(byte[] message) {
            ask(message);
        }
    };

    @TempDir
    private Path folder;

    private TestShuffleService service;
    private RdmaNode reader;

    @BeforeEach
    void start() throws Exception {
        service = new TestShuffleService(folder, Map.of());
        service.begin(APPLICATION);
        DirectoryClient client = new DirectoryClient(driver, 1, 5_000);
        reader = RdmaNode.open("2", 1, "127.0.0.1", client, CONFIG, new Counters());
    }

    @AfterEach
    void stop() {
        reader.close();
        service.close();
    }

    @Test
    void what_the_service_serves_is_read_after_its_executor_has_left() throws Exception {
        byte[] bytes = {1, 2, 3, 4, 5, 6};
        try (TestShuffleService.Client executor = service.client(APPLICATION)) {
            executor.register("3", service.localDir(APPLICATION));
            TestShuffleService.write(service.localDir(APPLICATION), 5, 7, bytes, 0, 2, 6);
            publisher("3", executor::connection).publish(5, 7, 2).join();
        }
        directory.removeExecutor("3");
        assertArrayEquals(new byte[] {3, 4, 5, 6}, fetch("3", 5, 7, 1).get(20, TimeUnit.SECONDS));
    }

    @Test
    void what_the_service_refuses_is_left_to_tcp_with_its_reason() throws Exception {
        try (TestShuffleService.Client executor = service.client(APPLICATION)) {
            executor.register("3", service.localDir(APPLICATION));
            ServedPublisher publisher = publisher("3", executor::connection);
            NotPublishedException refused = assertThrows(NotPublishedException.class, () -> publisher.publish(5, 7, 1));
            assertEquals(FallbackReason.NOT_PUBLISHED, refused.reason());
        }
    }

    @Test
    void a_removed_shuffle_is_forgotten_by_the_service() throws Exception {
        try (TestShuffleService.Client executor = service.client(APPLICATION)) {
            executor.register("3", service.localDir(APPLICATION));
            TestShuffleService.write(service.localDir(APPLICATION), 5, 7, new byte[6], 0, 6);
            ServedPublisher publisher = publisher("3", executor::connection);
            publisher.publish(5, 7, 1).join();
            publisher.removeShuffle(5);
            // another thread of the service forgets
            Awaitility.await().until(() -> !TestShuffleService.holds("shuffle_5_7_0.data"));
        }
    }

    @Test
    void a_service_without_rdma_is_asked_once() throws Exception {
        service.close();
        service = new TestShuffleService(folder, Map.of("spark.shuffle.rdma.mode", "off"));
        service.begin(APPLICATION);
        try (TestShuffleService.Client executor = service.client(APPLICATION)) {
            executor.register("3", service.localDir(APPLICATION));
            TestShuffleService.write(service.localDir(APPLICATION), 5, 7, new byte[6], 0, 6);
            assertAskedOnce(executor::connection);
        }
    }

    @Test
    void a_service_that_is_not_there_is_asked_once() throws Exception {
        assertAskedOnce(() -> {
            throw new IOException("nobody listens");
        });
    }

    @Test
    void sparks_own_service_is_asked_once() throws Exception {
        TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
        try (TransportContext sparks = new TransportContext(conf, new ExternalBlockHandler(conf, null));
                TransportServer server = sparks.createServer();
                TransportContext ours = new TransportContext(conf, new NoOpRpcHandler());
                TransportClientFactory clients = ours.createClientFactory()) {
            assertAskedOnce(() -> {
                try {
                    return clients.createClient("127.0.0.1", server.getPort());
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
            });
        }
    }

    private void assertAskedOnce(ServedPublisher.Connector connector) throws NotPublishedException {
        int[] asked = {0};
        ServedPublisher publisher = publisher("3", () -> {
            asked[0]++;
            return connector.connect();
        });
        for (int i = 0; i < 3; i++) {
            assertNull(publisher.publish(5, 7, 1));
        }
        publisher.removeShuffle(5);
        assertEquals(1, asked[0]);
    }

    private ServedPublisher publisher(String execId, ServedPublisher.Connector connector) {
        return new ServedPublisher(
                connector, APPLICATION.toString(), execId, reader.secret(), driver, 20_000, new Counters());
    }

    private CompletableFuture<byte[]> fetch(String executorId, int shuffleId, long mapId, int partition) {
        CompletableFuture<byte[]> outcome = new CompletableFuture<>();
        BlockRequest request = new BlockRequest(
                shuffleId, executorId, new long[] {mapId}, new int[] {partition}, new int[] {partition + 1});
        reader.reader().fetch(request, new BlockListener() {
            @Override
            public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
                byte[] bytes = new byte[lengthBytes];
                sink.view(offset, lengthBytes).get(bytes);
                outcome.complete(bytes);
            }

            @Override
            public void onFallback(int[] blocks, FallbackReason reason, String detail) {
                outcome.completeExceptionally(new IOException(reason + " " + detail));
            }
        });
        return outcome;
    }
}
