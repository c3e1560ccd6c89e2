package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.core.read.BlockRequest;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Both walks between two nodes, through the real native code. */
class RdmaNodeTest extends NodeTest {

    private static void assertNothingLent(RdmaNode node) {
        await().until(() -> node.reader().pool().lentBytes() == 0);
    }

    @Test
    void blocks_arrive_byte_for_byte() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] one = nodes.publish(owner, 0, 11, 100, 0, 70_000, 5);
        byte[] two = nodes.publish(owner, 0, 12, 1, 1, 1, 1_000_000);

        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 11, 12, 12, 11}, 0, 2, 3, 0, 1)
                .awaitAll();

        blocks.assertRead(0, one, 0, 100);
        blocks.assertRead(1, one, 100, 70_100);
        blocks.assertRead(2, two, 3, 1_000_003);
        blocks.assertRead(3, two, 0, 1);
        blocks.assertRead(4, one, 100, 100);
        assertEquals(1, readerCounters.get(Counter.CONNECTIONS), "one connection serves all");
        assertNothingLent(reader);
    }

    @Test
    void a_run_of_partitions_is_one_block() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, 10, 20, 30, 40);
        FetchedBlocks blocks = FetchedBlocks.fetch(
                        reader, new BlockRequest(0, OWNER, new long[] {11}, new int[] {1}, new int[] {4}))
                .awaitAll();
        blocks.assertRead(0, file, 10, 100);
    }

    @Test
    void many_small_blocks_take_few_reads() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        int maps = 300;
        byte[][] files = new byte[maps][];
        for (int map = 0; map < maps; map++) {
            files[map] = nodes.publish(owner, 0, map, 50, 60, 70);
        }
        long[] mapIds = LongStream.range(0, 2 * maps).map(i -> i / 2).toArray();
        int[] partitions = IntStream.range(0, 2 * maps).map(i -> 1 + i % 2).toArray();
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, mapIds, partitions).awaitAll();
        for (int i = 0; i < mapIds.length; i++) {
            int from = partitions[i] == 1 ? 50 : 110;
            blocks.assertRead(i, files[(int) mapIds[i]], from, from + (partitions[i] == 1 ? 60 : 70));
        }
        // two neighbouring blocks of a map output are one READ
        assertEquals(maps, readerCounters.get(Counter.RDMA_READS));
    }

    @Test
    void outputs_with_long_offset_rows_are_read_too() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        long[] lengths = LongStream.range(0, 5000).map(i -> i % 7).toArray();
        byte[] file = nodes.publish(owner, 0, 1, lengths);
        int[] partitions = {0, 1, 2500, 4999};
        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {1, 1, 1, 1}, partitions)
                .awaitAll();
        for (int i = 0; i < partitions.length; i++) {
            long from = Arrays.stream(lengths).limit(partitions[i]).sum();
            blocks.assertRead(i, file, from, from + lengths[partitions[i]]);
        }
    }

    @Test
    void what_was_not_published_falls_back_and_the_rest_is_read() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, 10);
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {99, 11}, 0, 0).awaitAll();
        blocks.assertFellBack(0, FallbackReason.NOT_PUBLISHED);
        blocks.assertRead(1, file, 0, 10);
    }

    @Test
    void offsets_that_contradict_the_published_length_make_their_blocks_fall_back() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, 10, 20);
        nodes.shorten(0, 15);
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 11}, 0, 1).awaitAll();
        blocks.assertRead(0, file, 0, 10);
        blocks.assertFellBack(1, FallbackReason.BAD_OFFSETS);
    }

    @Test
    void an_output_that_is_published_after_the_first_look_is_found() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        byte[] late = nodes.publish(owner, 0, 12, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {12}, 0).awaitAll().assertRead(0, late, 0, 10);
    }

    @Test
    void an_entry_of_another_executor_is_not_used() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, "3", new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.NOT_PUBLISHED);
    }

    @Test
    void an_output_that_is_handed_on_is_read_from_where_it_is_now_and_registered_once() throws Exception {
        RdmaNode before = nodes.open(OWNER, ownerCounters);
        RdmaNode now = nodes.open("3", new Counters());
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(before, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        byte[] file = nodes.publish(now, 0, 11, 10);
        long registered = now.registeredBytes();
        file = nodes.publish(now, 0, 11, 10);
        assertEquals(registered, now.registeredBytes());
        before.close();
        FetchedBlocks.fetch(reader, 0, "3", new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 10);
    }

    @Test
    void beyond_the_pinned_budget_nothing_is_published_when_staging_is_off() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "staging.maxBytes", "0");
        nodes.publish(owner, 0, 11, 300_000);
        long registered = owner.registeredBytes();
        NotPublishedException e = assertThrows(NotPublishedException.class, () -> nodes.publish(owner, 0, 12, 300_000));
        assertEquals(FallbackReason.OVER_BUDGET, e.reason());
        assertEquals(registered, owner.registeredBytes());
        assertEquals(1, nodes.directory.publishedOutputs());
    }

    @Test
    void a_removed_shuffle_is_deregistered_and_can_no_longer_be_read() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "quarantine", "0ms");
        nodes.publish(owner, 0, 11, 10);
        byte[] other = nodes.publish(owner, 1, 21, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();

        owner.removeShuffle(0);

        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.READ_FAILED);
        FetchedBlocks.fetch(reader, 1, OWNER, new long[] {21}, 0).awaitAll().assertRead(0, other, 0, 10);
        owner.removeShuffle(1);
        assertEquals(0, owner.registeredBytes());
    }

    @Test
    void what_a_task_publishes_that_outlives_its_shuffle_is_refused_and_leaves_nothing() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        nodes.publish(owner, 0, 11, 10);
        nodes.directory.taskStarted(12);
        nodes.directory.removeShuffle(0);
        owner.removeShuffle(0);

        assertThrows(NotPublishedException.class, () -> nodes.publish(owner, 0, 12, 10));

        assertEquals(0, nodes.directory.publishedOutputs());
        assertEquals(0, owner.registeredBytes());
    }

    @Test
    void a_removed_shuffle_that_is_made_again_is_read_again() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        owner.removeShuffle(0);
        reader.removeShuffle(0);
        nodes.directory.removeShuffle(0);

        byte[] again = nodes.publish(owner, 0, 12, 10);

        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {12}, 0).awaitAll().assertRead(0, again, 0, 10);
    }

    @Test
    void when_the_owner_goes_its_blocks_fall_back_and_it_is_left_alone_for_a_while() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        owner.close();
        await().untilAsserted(() -> FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.QUARANTINED));
        assertNothingLent(reader);
    }

    @Test
    void a_closed_reader_still_answers() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        reader.close();
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertFellBack(0, FallbackReason.CLOSED);
    }

    @Test
    void a_block_larger_than_the_sink_pool_falls_back() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "sink.maxBytes", "1m");
        byte[] file = nodes.publish(owner, 0, 11, 2_000_000, 10);
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 11}, 0, 1).awaitAll();
        blocks.assertFellBack(0, FallbackReason.TOO_LARGE);
        blocks.assertRead(1, file, 2_000_000, 2_000_010);
    }

    @Test
    void a_failed_read_makes_its_blocks_fall_back_with_the_cause() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "quarantine", "0ms");
        byte[] file = nodes.publish(owner, 0, 11, 10);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        TestNodes.inject("read when 1 status=RETRY_EXC_ERR");
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.READ_FAILED);
        TestNodes.clearFaults();
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 10);
        assertNothingLent(reader);
    }

    @Test
    void reads_that_never_complete_end_by_their_deadline() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "read.timeout", "200ms");
        nodes.publish(owner, 0, 11, 10);
        TestNodes.inject("read when 1 stall");
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.READ_TIMEOUT);
        assertNothingLent(reader);
    }

    @Test
    void a_refused_connection_makes_its_blocks_fall_back() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        TestNodes.inject("connect when 1 reject");
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.CONNECT_REJECTED);
    }

    @Test
    void a_connection_that_never_stands_ends_by_its_deadline() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "connect.timeout", "200ms");
        nodes.publish(owner, 0, 11, 10);
        TestNodes.inject("cm_event drop");
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.CONNECT_FAILED);
    }

    @Test
    void an_output_that_can_neither_be_registered_nor_staged_is_not_published() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "staging.maxBytes", "0");
        TestNodes.inject("reg_mr when 1 errno=ENOMEM");
        NotPublishedException e = assertThrows(NotPublishedException.class, () -> nodes.publish(owner, 0, 11, 10));
        assertEquals(FallbackReason.REGISTRATION_FAILED, e.reason());
        assertEquals(0, owner.registeredBytes());
    }
}
