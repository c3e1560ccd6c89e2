package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.FailureScope;
import io.rdmashuffle.verbs.WcStatus;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The fault table of docs/failure-model.md, acted out row by row: the document and the suite are one. */
class FaultTableTest {

    /** No step may take longer than its time-out of 500 ms and the wait for the next look at it. */
    private static final Duration DEADLINE = Duration.ofSeconds(5);

    private static final CmEventType[] FAILURES_OF_CONNECTING = {
        CmEventType.ADDR_ERROR,
        CmEventType.ROUTE_ERROR,
        CmEventType.CONNECT_ERROR,
        CmEventType.UNREACHABLE,
        CmEventType.REJECTED,
        CmEventType.DISCONNECTED
    };

    private static final String[] IMPATIENT = {
        "quarantine", "0ms", "connect.timeout", "500ms", "read.timeout", "500ms", "sink.wait", "500ms"
    };

    @TempDir
    Path folder;

    @AfterEach
    void clear() throws IOException {
        TestNodes.clearFaults();
    }

    @TestFactory
    Stream<DynamicTest> a_scripted_fault_costs_only_what_its_row_says() throws IOException {
        return FaultTable.rows().stream()
                .filter(FaultTable::isScripted)
                .flatMap(row -> row.scripts()
                        .map(script -> DynamicTest.dynamicTest(
                                row.step() + ": " + row.failure() + " (" + script + ")", () -> actOut(row, script))));
    }

    @TestFactory
    Stream<DynamicTest> a_row_without_a_script_names_a_test_that_exists() throws IOException {
        List<Path> sources = testSources();
        return FaultTable.rows().stream()
                .filter(row -> !row.isScripted())
                .map(row -> DynamicTest.dynamicTest(
                        row.step() + ": " + row.failure(), () -> assertExists(row.test(), sources)));
    }

    @Test
    void every_kind_of_failure_has_its_row() throws IOException {
        List<FaultTable> rows = FaultTable.rows();
        String table = rows.toString();
        Stream.of(FallbackReason.values())
                .forEach(reason -> assertTrue(table.contains(reason.name()), () -> "no row ends in " + reason));
        Arrays.stream(WcStatus.values())
                .filter(status -> status != WcStatus.SUCCESS)
                .filter(status -> status.scope() != FailureScope.BUG)
                .forEach(status -> assertTrue(table.contains("status=" + status), () -> "no row for " + status));
        for (CmEventType type : FAILURES_OF_CONNECTING) {
            assertTrue(table.contains(type.name()), () -> "no row for " + type);
        }
    }

    private void actOut(FaultTable row, String script) throws Exception {
        TestNodes.inject("now port_up");
        Resources before = Resources.now();
        try (TestNodes nodes = new TestNodes(Files.createTempDirectory(folder, "row"))) {
            switch (row.step()) {
                case "open" -> open(row, script, nodes);
                case "register" -> publish(row, script, nodes);
                default -> read(row, script, nodes);
            }
        }
        await().atMost(DEADLINE).untilAsserted(() -> assertEquals(before, Resources.now(), "left over after closing"));
    }

    private static void open(FaultTable row, String script, TestNodes nodes) throws Exception {
        TestNodes.inject(script);
        assertTrue(row.mayEnd(FallbackReason.UNAVAILABLE), row::toString);
        assertThrows(RdmaUnavailableException.class, () -> nodes.open("1", new Counters()));
        TestNodes.clearFaults();
        nodes.publish(nodes.open("1", new Counters()), 0, 11, 10);
    }

    private static void publish(FaultTable row, String script, TestNodes nodes) throws Exception {
        RdmaNode owner = nodes.open("1", new Counters());
        Resources idle = Resources.now();
        TestNodes.inject(script);
        String outcome = "none";
        try {
            nodes.publish(owner, 0, 11, 10);
        } catch (NotPublishedException e) {
            outcome = e.reason().name();
            assertEquals(idle, Resources.now(), "left over after the failure");
            assertEquals(0, nodes.directory.publishedOutputs());
        }
        assertTrue(row.mayEnd(outcome), outcome);
        TestNodes.clearFaults();
        nodes.publish(owner, 0, 12, 10);
    }

    /** Two outputs are fetched in spite of the fault, and once more when it is gone. */
    private static void read(FaultTable row, String script, TestNodes nodes) throws Exception {
        RdmaNode owner = nodes.open("1", new Counters());
        Counters counters = new Counters();
        RdmaNode reader = nodes.open("2", counters, IMPATIENT);
        byte[][] files = {
            nodes.publish(owner, 0, 10, 100, 5000),
            nodes.publish(owner, 0, 11, 100, 5000),
            nodes.publish(owner, 0, 12, 9, 0)
        };
        prepare(row, reader, files);
        long connections = counters.get(Counter.CONNECTIONS);

        TestNodes.inject(script);
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, "1", new long[] {10, 11}, 1, 1).awaitAll(DEADLINE);
        int fallenBack = 0;
        for (int block = 0; block < 2; block++) {
            if (blocks.isRead(block)) {
                blocks.assertRead(block, files[block], 100, 5100);
            } else {
                fallenBack++;
                assertTrue(row.mayEnd(blocks.reason(block)), "ended in " + blocks.reason(block));
            }
        }
        assertEquals(row.mayEnd("none"), fallenBack == 0, fallenBack + " blocks fell back");
        await().atMost(DEADLINE).until(() -> reader.reader().pool().lentBytes() == 0);

        TestNodes.inject("now port_up");
        if (row.action().equals("end")) {
            assertFalse(FetchedBlocks.fetch(reader, 0, "1", new long[] {10}, 1)
                    .awaitAll(DEADLINE)
                    .isRead(0));
            return;
        }
        awaitRead(reader, 10, 1, files[0], 100, 5100);
        awaitRead(reader, 11, 1, files[1], 100, 5100);
        if (row.scope().equals("REQUEST") && connections > 0) {
            assertEquals(connections, counters.get(Counter.CONNECTIONS), "the connection should have stood");
        }
        await().atMost(DEADLINE)
                .untilAsserted(() -> assertEquals(2, Resources.now().qps(), "one connection has two ends"));
    }

    /** Brings the reader to where the step begins. */
    private static void prepare(FaultTable row, RdmaNode reader, byte[][] files) {
        switch (row.step()) {
            case "resolve", "route", "handshake", "accept", "sink" -> {
                // nothing is there yet
            }
            case "offsets" -> awaitRead(reader, 12, 0, files[2], 0, 9);
            case "read" -> {
                awaitRead(reader, 10, 1, files[0], 100, 5100);
                awaitRead(reader, 11, 1, files[1], 100, 5100);
            }
            default -> throw new AssertionError("no scripted scenario for the step " + row.step());
        }
    }

    private static void awaitRead(RdmaNode reader, long mapId, int partition, byte[] file, int from, int to) {
        await().atMost(DEADLINE)
                .untilAsserted(() -> FetchedBlocks.fetch(reader, 0, "1", new long[] {mapId}, partition)
                        .awaitAll(DEADLINE)
                        .assertRead(0, file, from, to));
    }

    private static List<Path> testSources() throws IOException {
        try (Stream<Path> files = Files.walk(FaultTable.ROOT)) {
            return files.filter(file -> file.toString().matches(".*/src/test/.*\\.(java|scala|c)"))
                    .toList();
        }
    }

    private static void assertExists(String test, List<Path> sources) {
        String name = test.substring(0, test.indexOf('.'));
        String member = test.substring(test.indexOf('.') + 1);
        assertTrue(
                sources.stream()
                        .filter(file -> file.getFileName().toString().matches(name + "\\.(java|scala|c)"))
                        .anyMatch(file -> contains(file, member)),
                "no test " + test);
    }

    private static boolean contains(Path file, String member) {
        try {
            return Files.readString(file).contains(member);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
