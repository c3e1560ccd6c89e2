package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.core.read.BlockListener;
import io.rdmashuffle.core.read.BlockRequest;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rows of the fault table that no script of softverbs' can act out, within one process. */
@Timeout(60)
class NodeFaultTest extends NodeTest {

    private Resources before;

    @BeforeEach
    void look() {
        before = Resources.now();
    }

    @AfterEach
    void nothing_is_left_over() throws Exception {
        nodes.close();
        await().untilAsserted(() -> assertEquals(before, Resources.now()));
    }

    @Test
    void without_a_driver_a_node_does_not_open_and_leaves_nothing() throws Exception {
        for (TestNodes.Driver driver : badDrivers()) {
            nodes.driver = driver;
            assertThrows(RdmaUnavailableException.class, () -> nodes.open(OWNER, new Counters()), driver::name);
            assertEquals(before, Resources.now(), driver.name());
        }
        nodes.driver = TestNodes.Driver.ANSWERS;
        nodes.publish(nodes.open(OWNER, new Counters()), 0, 11, 10);
    }

    @Test
    void a_data_file_that_is_not_there_or_empty_is_not_published() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        Path empty = Files.createFile(folder.resolve("empty"));
        for (Path file : List.of(folder.resolve("nowhere"), empty, folder)) {
            NotPublishedException e =
                    assertThrows(NotPublishedException.class, () -> TestNodes.publish(owner, 0, 11, file, 10));
            assertEquals(FallbackReason.REGISTRATION_FAILED, e.reason());
        }
        assertEquals(0, owner.registeredBytes());
    }

    @Test
    void what_the_driver_does_not_confirm_is_not_published() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        byte[] first = nodes.publish(owner, 0, 11, 10);
        long registered = owner.registeredBytes();
        for (TestNodes.Driver driver : badDrivers()) {
            nodes.driver = driver;
            NotPublishedException e = assertThrows(NotPublishedException.class, () -> nodes.publish(owner, 0, 12, 10));
            assertEquals(FallbackReason.PUBLISH_FAILED, e.reason(), driver.name());
            assertEquals(registered, owner.registeredBytes(), driver.name());
        }
        nodes.driver = TestNodes.Driver.ANSWERS;
        byte[] second = nodes.publish(owner, 0, 12, 10);
        RdmaNode reader = nodes.open(READER, new Counters());
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 12}, 0, 0).awaitAll();
        blocks.assertRead(0, first, 0, 10);
        blocks.assertRead(1, second, 0, 10);
    }

    @Test
    void a_map_task_does_not_wait_for_the_driver() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        nodes.driver = TestNodes.Driver.SILENT;
        CompletableFuture<Void> confirmed =
                owner.publisher().publish(0, 11, Files.write(folder.resolve("data"), new byte[10]), new long[] {10});
        assertFalse(confirmed.isDone());
        await().until(confirmed::isCompletedExceptionally);
        assertEquals(0, owner.registeredBytes());
    }

    @Test
    void an_entry_whose_confirmation_was_lost_is_withdrawn() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        nodes.driver = TestNodes.Driver.ANSWER_IS_LOST;
        assertThrows(NotPublishedException.class, () -> nodes.publish(owner, 0, 11, 10));
        assertEquals(0, nodes.directory.publishedOutputs());
    }

    @Test
    void when_the_driver_does_not_answer_blocks_fall_back_and_later_ones_do_not() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        RdmaNode reader = nodes.open(READER, new Counters());
        byte[] file = nodes.publish(owner, 0, 11, 10);
        for (TestNodes.Driver driver : badDrivers()) {
            nodes.driver = driver;
            FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                    .awaitAll()
                    .assertFellBack(0, FallbackReason.DIRECTORY_UNREACHABLE);
        }
        nodes.driver = TestNodes.Driver.ANSWERS;
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 10);
    }

    @Test
    void when_all_sinks_are_held_a_fetch_waits_its_time_and_falls_back() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        RdmaNode reader = nodes.open(READER, new Counters(), "sink.maxBytes", "1m", "sink.wait", "100ms");
        byte[] file = nodes.publish(owner, 0, 11, 900_000, 900_000);
        Holder holder = new Holder();
        reader.reader().fetch(new BlockRequest(0, OWNER, new long[] {11}, new int[] {0}, new int[] {1}), holder);
        Sink held = holder.sink.get(10, TimeUnit.SECONDS);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 1)
                .awaitAll()
                .assertFellBack(0, FallbackReason.SINK_EXHAUSTED);
        held.release();
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 1).awaitAll().assertRead(0, file, 900_000, 1_800_000);
    }

    @Test
    void a_listener_that_throws_costs_no_other_block() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        RdmaNode reader = nodes.open(READER, new Counters());
        byte[] file = nodes.publish(owner, 0, 11, 10, 10);
        BlockRequest request = new BlockRequest(0, OWNER, new long[] {11, 11}, new int[] {0, 1}, new int[] {1, 2});
        CompletableFuture<Void> bothTold = new CompletableFuture<>();
        reader.reader().fetch(request, new BlockListener() {
            @Override
            public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
                if (block == 1) {
                    bothTold.complete(null);
                }
                throw new IllegalStateException("a listener's defect");
            }

            @Override
            public void onFallback(int[] blocks, FallbackReason reason, String detail) {
                throw new IllegalStateException("a listener's defect");
            }
        });
        bothTold.get(10, TimeUnit.SECONDS);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 1).awaitAll().assertRead(0, file, 10, 20);
        await().until(() -> reader.reader().pool().lentBytes() == 0);
    }

    @Test
    void without_direct_memory_blocks_fall_back_and_later_ones_do_not() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        RdmaNode reader = nodes.open(READER, new Counters(), "quarantine", "0ms");
        byte[] file = nodes.publish(owner, 0, 11, 10);
        List<ByteBuffer> all = useUpDirectMemory();
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.CONNECT_FAILED);
        all.clear();
        System.gc(); // direct memory goes with its buffers
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 10);
        await().until(() -> reader.reader().pool().lentBytes() == 0);
    }

    @Test
    void closing_with_reads_under_way_answers_each_block() throws Exception {
        RdmaNode owner = nodes.open(OWNER, new Counters());
        RdmaNode reader = nodes.open(READER, new Counters());
        nodes.publish(owner, 0, 11, 10, 20);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        TestNodes.inject("read stall");
        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 11}, 0, 1);
        await().until(() -> reader.reader().pool().lentBytes() > 0);
        reader.close();
        blocks.awaitAll().assertFellBack(0, FallbackReason.CLOSED);
        blocks.assertFellBack(1, FallbackReason.CLOSED);
    }

    private static TestNodes.Driver[] badDrivers() {
        return new TestNodes.Driver[] {
            TestNodes.Driver.SILENT, TestNodes.Driver.REFUSES, TestNodes.Driver.ANSWERS_GARBAGE
        };
    }

    /** The test run has 64 MiB of it. */
    private static List<ByteBuffer> useUpDirectMemory() {
        List<ByteBuffer> all = new ArrayList<>();
        for (int bytes = 1 << 20; bytes >= 16; ) {
            try {
                all.add(ByteBuffer.allocateDirect(bytes));
            } catch (OutOfMemoryError e) {
                bytes /= 16;
            }
        }
        return all;
    }

    /** Keeps the sink of its block. */
    private static final class Holder implements BlockListener {
        final CompletableFuture<Sink> sink = new CompletableFuture<>();

        @Override
        public void onBlock(int block, Sink lent, long offset, int lengthBytes) {
            lent.retain();
            sink.complete(lent);
        }

        @Override
        public void onFallback(int[] blocks, FallbackReason reason, String detail) {
            sink.completeExceptionally(new AssertionError(reason + " " + detail));
        }
    }
}
