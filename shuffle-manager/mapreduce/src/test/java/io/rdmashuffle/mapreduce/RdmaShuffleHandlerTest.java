package io.rdmashuffle.mapreduce;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a NodeManager answers to whom, and that its map outputs can be read there, through the real native code. */
@Timeout(180)
class RdmaShuffleHandlerTest {

    private static final int JOB = 1;
    private static final int OTHER_JOB = 2;

    private static List<Integer> idle; // verbs objects without handler and reducer

    @TempDir
    Path folder;

    private TestNodeManager node;
    private ReducerSide reducer;

    @BeforeAll
    static void count() throws IOException {
        idle = TestNodeManager.verbsObjects();
    }

    @BeforeEach
    void open() throws IOException {
        node = new TestNodeManager(
                folder,
                "mapreduce.shuffle.rdma.pinned.maxBytes",
                "8m",
                "mapreduce.shuffle.rdma.pinned.maxBytesPerApplication",
                "6m");
        node.startJob(JOB);
        reducer = reducer(JOB);
    }

    @AfterEach
    void close() {
        reducer.close();
        node.close();
    }

    private static ReducerSide reducer(int job) {
        Configuration conf = new Configuration(false);
        conf.set("mapreduce.shuffle.rdma.quarantine", "0ms");
        ReducerSide side = ReducerSide.start(conf, TestNodeManager.secret(job));
        assertNull(side.whyNot("any host"), side::cause);
        return side;
    }

    private byte[] read(Owner owner, List<Segment> segments, int segment) throws IOException {
        try (SegmentReads reads = new SegmentReads(reducer, owner, segments, () -> {})) {
            for (int i = 0; i < segment; i++) {
                reads.open(i).readAllBytes();
            }
            try (InputStream bytes = reads.open(segment)) {
                return bytes.readAllBytes();
            }
        }
    }

    private FallbackReason failureOf(Owner owner, Segment segment) {
        return assertThrows(SegmentReads.ReadException.class, () -> read(owner, List.of(segment), 0))
                .reason();
    }

    private static int status(URL url, String urlHash) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        if (urlHash != null) {
            connection.setRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, urlHash);
        }
        connection.setRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
        connection.setRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
        return connection.getResponseCode();
    }

    private static String hash(URL url, int job) throws IOException {
        return SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), TestNodeManager.secret(job));
    }

    @Test
    void segments_short_and_long_are_read_byte_for_byte() throws IOException {
        byte[] one = node.writeOutput(JOB, 1, 100, 70_000);
        byte[] two = node.writeOutput(JOB, 2, 6, 5_500_000);
        LookupReply reply = node.lookup(JOB, 1, 1, 2);
        assertArrayEquals(Arrays.copyOfRange(one, 100, 70_100), read(reply.owner(), reply.segments(), 0));
        assertArrayEquals(Arrays.copyOfRange(two, 6, 5_500_006), read(reply.owner(), reply.segments(), 1));
    }

    @Test
    void the_stock_request_is_answered_as_ever() throws IOException {
        node.writeOutput(JOB, 1, 100);
        URL url =
                node.url("/mapOutput?job=" + TestNodeManager.job(JOB) + "&reduce=0&map=" + TestNodeManager.map(JOB, 1));
        assertEquals(200, status(url, hash(url, JOB)));
        assertEquals(401, status(url, hash(url, OTHER_JOB)));
    }

    @Test
    void a_stock_handler_is_told_from_ours() throws IOException {
        node.writeOutput(JOB, 1, 100);
        node.restartStock();
        SegmentReads.ReadException e = assertThrows(SegmentReads.ReadException.class, () -> node.lookup(JOB, 0, 1));
        assertEquals(FallbackReason.NOT_PUBLISHED, e.reason());
    }

    @Test
    void who_does_not_know_the_secret_is_refused() throws IOException {
        node.writeOutput(JOB, 1, 100);
        URL url =
                new LookupRequest(TestNodeManager.job(JOB), 0, List.of(TestNodeManager.map(JOB, 1))).url(node.url("/"));
        assertEquals(401, status(url, null));
        assertEquals(401, status(url, "bm9uc2Vuc2U="));
        assertEquals(401, status(url, hash(url, OTHER_JOB)));
        assertEquals(200, status(url, hash(url, JOB)));
        assertEquals(3, TestNodeManager.metric("RefusedLookups"));
        URL unknown = new LookupRequest(TestNodeManager.job(OTHER_JOB), 0, List.of(TestNodeManager.map(OTHER_JOB, 1)))
                .url(node.url("/"));
        assertEquals(401, status(unknown, hash(unknown, OTHER_JOB)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "attempt_1700000000000_0001_m_000001_0/../attempt_1700000000000_0001_m_000001_0",
                "../attempt_1700000000000_0001_m_000001_0",
                "..",
                "attempt_1700000000000_0002_m_000001_0",
                "attempt_1700000000000_0001_r_000001_0",
                "attempt_1700000000000_1_m_1_0",
                "attempt_1700000000000_0001_m_000001_0,",
                "attempt_1700000000000_0001_m_000001_99999999999",
                ""
            })
    void what_is_not_a_map_attempt_of_the_job_is_refused(String map) throws IOException {
        node.writeOutput(JOB, 1, 100);
        URL url = node.url(LookupRequest.PATH + "?v=1&j=" + TestNodeManager.job(JOB) + "&r=0&m=" + map);
        assertEquals(400, status(url, hash(url, JOB)));
        assertEquals(1, TestNodeManager.metric("RefusedLookups"));
    }

    @Test
    void a_file_that_is_not_the_users_is_not_offered() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can give a file away");
        node.writeOutput(JOB, 1, 100);
        Files.setAttribute(node.output(JOB, 1), "unix:uid", 65_534);
        Segment refused = node.lookup(JOB, 0, 1).segments().get(0);
        assertEquals(FallbackReason.NOT_PUBLISHED, refused.whyNot());
        assertEquals(1, TestNodeManager.metric("RefusedOutputs"));
        assertEquals(0, TestNodeManager.metric("RegisteredBytes"));
    }

    @Test
    void what_is_not_there_is_told_per_map_output() throws IOException {
        byte[] one = node.writeOutput(JOB, 1, 100);
        LookupReply reply = node.lookup(JOB, 0, 7, 1);
        assertEquals(FallbackReason.NOT_PUBLISHED, reply.segments().get(0).whyNot());
        assertArrayEquals(one, read(reply.owner(), reply.segments().subList(1, 2), 0));
        assertEquals(
                FallbackReason.NOT_PUBLISHED,
                node.lookup(JOB, 5, 1).segments().get(0).whyNot(),
                "partition 5 of 1");
    }

    @Test
    void beyond_the_budget_of_its_job_or_of_the_node_a_map_output_is_not_offered() throws IOException {
        node.startJob(OTHER_JOB);
        node.writeOutput(JOB, 1, 5_000_000);
        node.writeOutput(JOB, 2, 2_000_000);
        node.writeOutput(OTHER_JOB, 1, 5_000_000);
        assertEquals(Arrays.asList(null, FallbackReason.OVER_BUDGET), whyNot(node.lookup(JOB, 0, 1, 2)), "the job's");
        assertEquals(List.of(FallbackReason.OVER_BUDGET), whyNot(node.lookup(OTHER_JOB, 0, 1)), "the node's");
        assertEquals(5_000_000, TestNodeManager.metric("RegisteredBytes"));
        assertEquals(2, TestNodeManager.metric("RefusedOutputs"));
        node.stopJob(JOB);
        assertEquals(Arrays.asList((FallbackReason) null), whyNot(node.lookup(OTHER_JOB, 0, 1)), "free again");
    }

    private static List<FallbackReason> whyNot(LookupReply reply) {
        return reply.segments().stream().map(Segment::whyNot).toList();
    }

    @Test
    void a_key_of_one_job_is_of_no_use_on_a_connection_of_another() throws IOException {
        node.startJob(OTHER_JOB);
        node.writeOutput(JOB, 1, 100);
        node.writeOutput(OTHER_JOB, 1, 100);
        Segment foreign = node.lookup(OTHER_JOB, 0, 1).segments().get(0);
        Owner own = node.lookup(JOB, 0, 1).owner();
        assertEquals(FallbackReason.READ_FAILED, failureOf(own, foreign));
    }

    @Test
    void a_reducer_of_another_job_is_not_let_in() throws IOException {
        node.startJob(OTHER_JOB);
        node.writeOutput(OTHER_JOB, 1, 100);
        LookupReply foreign = node.lookup(OTHER_JOB, 0, 1);
        assertEquals(
                FallbackReason.CONNECT_REJECTED,
                failureOf(foreign.owner(), foreign.segments().get(0)));
        assertTrue(TestNodeManager.metric("RefusedConnections") > 0);
    }

    @Test
    void after_the_job_nothing_of_it_is_left() throws IOException {
        node.writeOutput(JOB, 1, 70_000);
        LookupReply reply = node.lookup(JOB, 0, 1);
        read(reply.owner(), reply.segments(), 0);
        reducer.close();
        node.stopJob(JOB);
        await().untilAsserted(() -> {
            assertEquals(idle, TestNodeManager.verbsObjects(), "verbs objects");
            assertFalse(Files.readString(Path.of("/proc/self/maps")).contains("file.out"), "mappings");
            assertEquals(0, threads("rdma-shuffle-loop"), "threads");
        });
        SegmentReads.ReadException e = assertThrows(SegmentReads.ReadException.class, () -> node.lookup(JOB, 0, 1));
        assertEquals(FallbackReason.DIRECTORY_UNREACHABLE, e.reason());
    }

    @Test
    void a_restarted_handler_knows_its_jobs_and_gives_out_new_places() throws IOException {
        byte[] bytes = node.writeOutput(JOB, 1, 100);
        LookupReply before = node.lookup(JOB, 0, 1);
        assertArrayEquals(bytes, read(before.owner(), before.segments(), 0));
        node.restart();
        Set<FallbackReason> gone =
                Set.of(FallbackReason.CONNECTION_LOST, FallbackReason.CONNECT_FAILED, FallbackReason.CONNECT_REJECTED);
        FallbackReason reason = failureOf(before.owner(), before.segments().get(0));
        assertTrue(gone.contains(reason), reason::name);
        LookupReply after = node.lookup(JOB, 0, 1);
        assertArrayEquals(bytes, read(after.owner(), after.segments(), 0));
    }

    @Test
    void a_node_without_rdma_says_so_and_serves_over_http() throws IOException {
        try (TestNodeManager off =
                new TestNodeManager(folder.resolve("off"), "mapreduce.shuffle.rdma.listen.subnets", "203.0.113.0/24")) {
            off.startJob(JOB);
            off.writeOutput(JOB, 1, 100);
            LookupReply reply = off.lookup(JOB, 0, 1);
            assertNull(reply.owner());
            assertEquals(FallbackReason.UNAVAILABLE, reply.segments().get(0).whyNot());
            URL url = off.url(
                    "/mapOutput?job=" + TestNodeManager.job(JOB) + "&reduce=0&map=" + TestNodeManager.map(JOB, 1));
            assertEquals(200, status(url, hash(url, JOB)));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mode=sometimes", "no.such.name=1"})
    void a_wrong_setting_leaves_the_node_on_http(String setting) throws IOException {
        String[] parts = setting.split("=");
        try (TestNodeManager off =
                new TestNodeManager(folder.resolve("wrong"), "mapreduce.shuffle.rdma." + parts[0], parts[1])) {
            off.startJob(JOB);
            off.writeOutput(JOB, 1, 100);
            URL url = off.url(
                    "/mapOutput?job=" + TestNodeManager.job(JOB) + "&reduce=0&map=" + TestNodeManager.map(JOB, 1));
            assertEquals(200, status(url, hash(url, JOB)));
        }
    }

    private static long threads(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(name))
                .count();
    }
}
