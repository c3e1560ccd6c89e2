package io.rdmashuffle.spark.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.spark.network.shuffle.protocol.RemoveBlocks;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The service in this process, on softverbs, and what its clients can have of it over Spark's authenticated connections. */
@Timeout(60)
class RdmaYarnShuffleServiceTest {

    private static final ApplicationId ONE = ApplicationId.newInstance(1, 1);
    private static final ApplicationId OTHER = ApplicationId.newInstance(1, 2);

    @TempDir
    private Path directory;

    private TestShuffleService service;

    @BeforeEach
    void start() {
        service = new TestShuffleService(directory, Map.of());
    }

    @AfterEach
    void stop() {
        service.close();
    }

    @Test
    void a_committed_map_output_is_served_for_the_executor_that_wrote_it() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
            TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[300], 0, 100, 100, 300);

            ServiceAnswer.Served served = assertInstanceOf(ServiceAnswer.Served.class, client.serve("3", 5, 7, 3));
            assertEquals("3", served.owner().executorId());
            assertEquals(7, served.location().mapId());
            assertEquals(300, served.location().dataBytes());
            assertEquals(3, served.location().partitions());
            assertEquals(Placement.DIRECT, served.location().placement());
        }
    }

    @Test
    void what_is_no_map_output_is_refused_with_a_reason() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
            TestShuffleService.write(service.localDir(ONE), 5, 8, new byte[200], 0, 100, 300);
            TestShuffleService.write(service.localDir(ONE), 5, 9, new byte[200], 0, 300, 200);

            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 5, 7, 1)); // not there
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("4", 5, 8, 2)); // of nobody
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 5, 8, 2)); // shorter than its index says
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 5, 9, 2)); // index goes backwards
        }
    }

    @Test
    void a_client_of_one_application_gets_nothing_of_another() throws Exception {
        service.begin(ONE);
        service.begin(OTHER);
        try (TestShuffleService.Client owner = service.client(ONE);
                TestShuffleService.Client stranger = service.client(OTHER)) {
            owner.register("3", service.localDir(ONE));
            TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[100], 0, 100);

            ServiceRequest stolen = new ServiceRequest.Serve(ONE.toString(), "3", new byte[32], 5, 7, 1);
            assertThrows(RuntimeException.class, () -> stranger.send(stolen.encode()));
            assertInstanceOf(ServiceAnswer.Served.class, owner.serve("3", 5, 7, 1));
        }
    }

    @Test
    void a_client_without_the_applications_secret_is_not_let_in() {
        service.begin(ONE);
        assertThrows(
                RuntimeException.class, () -> service.client(ONE, "a guess").serve("3", 5, 7, 1));
    }

    @Test
    void local_directories_that_yarn_did_not_give_are_not_believed() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            for (Path dir : List.of(
                    directory.resolve("elsewhere"),
                    service.localDir(OTHER),
                    service.localDir(ONE).resolve("../../../.."))) {
                assertThrows(RuntimeException.class, () -> client.register("3", dir), dir.toString());
            }
        }
    }

    @Test
    void nonsense_is_refused_and_the_connection_goes_on() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            assertThrows(
                    RuntimeException.class, () -> client.send(ByteBuffer.wrap(new byte[] {ServiceRequest.TYPE, 99})));
            client.register("3", service.localDir(ONE));
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 5, 7, 1));
        }
    }

    @Test
    void what_was_removed_is_not_held_any_more() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
            TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[100], 0, 100);
            TestShuffleService.write(service.localDir(ONE), 6, 8, new byte[100], 0, 100);
            assertInstanceOf(ServiceAnswer.Served.class, client.serve("3", 5, 7, 1));
            assertInstanceOf(ServiceAnswer.Served.class, client.serve("3", 6, 8, 1));

            client.send(new ServiceRequest.Forget(ONE.toString(), 5).encode());
            assertFalse(TestShuffleService.holds("shuffle_5_7_0.data"));
            client.send(new RemoveBlocks(ONE.toString(), "3", new String[] {"shuffle_6_8_0.data"}).toByteBuffer());
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 6, 8, 1));
            assertFalse(TestShuffleService.holds("shuffle_6_8_0.data"));
            assertInstanceOf(ServiceAnswer.Served.class, client.serve("3", 5, 7, 1), "written again, served again");
        }
    }

    @Test
    void an_ended_application_leaves_nothing() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
            TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[100], 0, 100);
            assertInstanceOf(ServiceAnswer.Served.class, client.serve("3", 5, 7, 1));
            assertTrue(TestShuffleService.holds("shuffle_5_7_0.data"));

            service.end(ONE);
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 5, 7, 1));
            assertFalse(TestShuffleService.holds("shuffle_5_7_0.data"));
        }
    }

    @Test
    void a_nodemanager_that_starts_again_knows_secrets_and_executors() throws Exception {
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
        }
        service.close();
        service = new TestShuffleService(directory, Map.of());
        TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[100], 0, 100);
        try (TestShuffleService.Client client = service.client(ONE)) {
            assertRefused(FallbackReason.CLOSED, client.serve("3", 5, 7, 1)); // no container of it runs here
            service.begin(ONE);
            assertInstanceOf(ServiceAnswer.Served.class, client.serve("3", 5, 7, 1));
        }
    }

    @Test
    void of_an_application_that_wants_nothing_kept_a_nodemanager_that_starts_again_knows_nothing() throws Exception {
        service.begin(
                ONE,
                "{\"spark.yarn.shuffle.server.recovery.disabled\":true,\"secret\":\"" + TestShuffleService.secretOf(ONE)
                        + "\"}");
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
        }
        service.close();
        service = new TestShuffleService(directory, Map.of());
        assertThrows(Exception.class, () -> service.client(ONE).register("3", service.localDir(ONE)));
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[100], 0, 100);
            assertRefused(FallbackReason.NOT_PUBLISHED, client.serve("3", 5, 7, 1)); // the executor is not known either
        }
        service.end(ONE);
    }

    @Test
    void an_application_that_gave_no_secret_is_not_let_in_by_a_guess() {
        service.begin(ONE, "{\"spark.yarn.shuffle.server.recovery.disabled\":true}");
        for (String guess : List.of("null", "", "{}")) {
            assertThrows(Exception.class, () -> service.client(ONE, guess).register("3", service.localDir(ONE)), guess);
        }
        service.end(ONE);
    }

    @Test
    void a_wrong_setting_leaves_it_with_tcp() throws Exception {
        service.close();
        service = new TestShuffleService(directory, Map.of("spark.shuffle.rdma.nonsense", "1"));
        service.begin(ONE);
        try (TestShuffleService.Client client = service.client(ONE)) {
            client.register("3", service.localDir(ONE));
            TestShuffleService.write(service.localDir(ONE), 5, 7, new byte[100], 0, 100);
            assertRefused(FallbackReason.UNAVAILABLE, client.serve("3", 5, 7, 1));
        }
    }

    private static void assertRefused(FallbackReason reason, ServiceAnswer answer) {
        assertEquals(
                reason, assertInstanceOf(ServiceAnswer.Refused.class, answer).reason());
    }
}
