package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.core.directory.LocationTable;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.ProbedDirectory;
import io.rdmashuffle.verbs.Rdma;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Map outputs in each placement, and from one to another, between two nodes through the real native code. */
@Timeout(120)
class PlacementTest extends NodeTest {

    /** Nothing of an owner with this budget is registered that is longer than 384 KiB. */
    private static final String[] SMALL = {"pinned.maxBytes", "1m"};

    private static final int TOO_LONG = 400_000;

    private Placement placementOf(int shuffleId, long mapId) throws Exception {
        return locationOf(shuffleId, mapId).placement();
    }

    private MapOutputLocation locationOf(int shuffleId, long mapId) throws Exception {
        LocationTable outputs = nodes.locations(shuffleId);
        return outputs.location(outputs.find(mapId));
    }

    private void assertNothingLeft(RdmaNode owner, RdmaNode reader) {
        await().until(() -> reader.reader().pool().lentBytes() == 0);
        await().until(() -> owner.stagedBuffers() == 0);
    }

    @Test
    void what_the_budget_does_not_hold_is_staged_and_arrives_byte_for_byte() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, 100, TOO_LONG, 0, 5);
        assertEquals(Placement.STAGED, placementOf(0, 11));

        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 11, 11, 11}, 0, 1, 2, 3)
                .awaitAll();

        blocks.assertRead(0, file, 0, 100);
        blocks.assertRead(1, file, 100, 100 + TOO_LONG);
        blocks.assertRead(2, file, 0, 0);
        blocks.assertRead(3, file, 100 + TOO_LONG, file.length);
        assertEquals(file.length, readerCounters.get(Counter.STAGED_BYTES));
        assertEquals(0, readerCounters.get(Counter.DIRECT_BYTES));
        assertNothingLeft(owner, reader);
    }

    @Test
    void one_shuffle_can_be_registered_in_part_and_staged_in_part() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] registered = nodes.publish(owner, 0, 11, 300_000);
        byte[] staged = nodes.publish(owner, 0, 12, 300_000);
        FetchedBlocks blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 12}, 0, 0).awaitAll();
        blocks.assertRead(0, registered, 0, 300_000);
        blocks.assertRead(1, staged, 0, 300_000);
        assertEquals(300_000, readerCounters.get(Counter.DIRECT_BYTES));
        assertEquals(300_000, readerCounters.get(Counter.STAGED_BYTES));
        assertEquals(0, ownerCounters.get(Counter.WITHDRAWN_SHUFFLES), "a shuffle makes no room for itself");
    }

    @Test
    void more_blocks_than_one_message_can_name_are_staged() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters);
        long[] lengths = LongStream.range(0, 300).map(i -> 1 + i * 11).toArray();
        byte[] file = nodes.publish(owner, 0, 11, lengths);
        int[] partitions = IntStream.range(0, lengths.length).toArray();
        FetchedBlocks blocks = FetchedBlocks.fetch(
                        reader, 0, OWNER, LongStream.range(0, 300).map(i -> 11).toArray(), partitions)
                .awaitAll();
        for (int i = 0; i < lengths.length; i++) {
            long from = Arrays.stream(lengths).limit(i).sum();
            blocks.assertRead(i, file, from, from + lengths[i]);
        }
        assertEquals(Placement.STAGED, placementOf(0, 11));
        assertNothingLeft(owner, reader);
    }

    @Test
    void an_output_that_cannot_be_registered_is_staged() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        TestNodes.inject("reg_mr when 1 errno=ENOMEM");
        byte[] file = nodes.publish(owner, 0, 11, 10_000);
        TestNodes.clearFaults();
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 10_000);
        assertEquals(10_000, readerCounters.get(Counter.STAGED_BYTES));
    }

    @Test
    void the_coldest_shuffle_makes_room_and_its_readers_are_told() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "withdraw.grace", "1s");
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] warm = nodes.publish(owner, 1, 21, 100_000);
        byte[] cold = nodes.publish(owner, 0, 11, 250_000);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, cold, 0, 250_000);
        FetchedBlocks.fetch(owner, 1, OWNER, new long[] {21}, 0).awaitAll().assertRead(0, warm, 0, 100_000);

        byte[] first = nodes.publish(owner, 2, 31, 200_000);
        assertEquals(Placement.STAGED, placementOf(2, 31), "nobody waits for the time of grace");
        assertEquals(Placement.STAGED, placementOf(0, 11), "the driver knows at once");
        await().until(() -> owner.registeredBytes() < 350_000);
        nodes.publish(owner, 2, 32, 200_000);

        assertEquals(Placement.DIRECT, placementOf(2, 32));
        assertEquals(Placement.DIRECT, placementOf(1, 21), "it was used after the one that was withdrawn");
        assertEquals(1, ownerCounters.get(Counter.WITHDRAWN_SHUFFLES));
        // the reader has an old entry in its cache, and was told
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, cold, 0, 250_000);
        FetchedBlocks.fetch(reader, 2, OWNER, new long[] {31}, 0).awaitAll().assertRead(0, first, 0, 200_000);
        assertEquals(450_000, readerCounters.get(Counter.STAGED_BYTES));
        assertEquals(0, readerCounters.get(Counter.QUARANTINES));
    }

    /** Of whose budget shuffle 0 took most, and is deregistered to make room for shuffle 1. */
    private RdmaNode ownerWithdrewShuffle0() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "withdraw.grace", "0ms");
        nodes.publish(owner, 0, 11, 300_000);
        nodes.publish(owner, 1, 21, 300_000);
        await().until(() -> owner.registeredBytes() < 300_000);
        return owner;
    }

    @Test
    void later_outputs_of_a_withdrawn_shuffle_are_staged() throws Exception {
        RdmaNode owner = ownerWithdrewShuffle0();
        nodes.publish(owner, 0, 12, 1000);
        assertEquals(Placement.STAGED, placementOf(0, 12));
    }

    @Test
    void nothing_comes_to_lie_where_a_withdrawn_output_was() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "withdraw.grace", "0ms");
        nodes.publish(owner, 0, 11, 300_000);
        MapOutputLocation withdrawn = locationOf(0, 11); // a reader may know it, and adapters give out rkeys again
        nodes.publish(owner, 1, 21, 300_000);
        await().until(() -> owner.registeredBytes() < 300_000);
        for (int map = 22; map < 25; map++) {
            nodes.publish(owner, 1, map, 100_000);
            MapOutputLocation location = locationOf(1, map);
            assertEquals(Placement.DIRECT, location.placement());
            assertTrue(
                    location.dataAddress() >= withdrawn.dataAddress() + withdrawn.dataBytes()
                            || location.dataAddress() + location.dataBytes() <= withdrawn.dataAddress(),
                    location + " and " + withdrawn);
        }
    }

    @Test
    void a_withdrawn_shuffle_makes_no_other_withdraw() throws Exception {
        RdmaNode owner = ownerWithdrewShuffle0();
        nodes.publish(owner, 1, 22, 300_000);
        nodes.publish(owner, 0, 12, 300_000);
        assertEquals(Placement.STAGED, placementOf(0, 12));
        assertEquals(Placement.DIRECT, placementOf(1, 22));
        assertEquals(1, ownerCounters.get(Counter.WITHDRAWN_SHUFFLES));
    }

    @Test
    void a_withdrawal_leaves_alone_the_shuffle_that_was_made_again_meanwhile() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "withdraw.grace", "500ms");
        nodes.publish(owner, 0, 11, 300_000);
        nodes.publish(owner, 1, 21, 300_000);
        owner.removeShuffle(0);
        nodes.directory.removeShuffle(0);
        nodes.publish(owner, 0, 12, 300_000);
        assertEquals(Placement.DIRECT, placementOf(0, 12));
        await().during(1, TimeUnit.SECONDS).until(() -> owner.registeredBytes() > 300_000);
    }

    @Test
    void a_read_of_a_withdrawn_output_costs_a_fallback_and_nothing_else() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "withdraw.grace", "0ms");
        RdmaNode reader = nodes.open(READER, readerCounters, "quarantine", "0ms", "connections.idle", "1s");
        byte[] file = nodes.publish(owner, 0, 11, 300_000);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        await().until(() -> owner.readersServed() == 0); // so that the reader cannot be told
        nodes.publish(owner, 1, 21, 300_000);
        await().until(() -> owner.registeredBytes() < 300_000);

        FetchedBlocks late =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();

        if (!late.isRead(0)) {
            late.assertFellBack(0, FallbackReason.READ_FAILED);
        }
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 300_000);
    }

    @Test
    void whom_the_owner_cannot_tell_of_a_withdrawal_asks_the_directory_once_a_read_failed() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "withdraw.grace", "0ms");
        RdmaNode reader = nodes.open(READER, readerCounters, "quarantine", "0ms");
        byte[] file = nodes.publish(owner, 0, 11, 300_000);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        TestNodes.inject("send stall");
        nodes.publish(owner, 1, 21, 300_000);
        await().until(() -> owner.registeredBytes() < 300_000);

        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.READ_FAILED);
        TestNodes.clearFaults();
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 300_000);
        assertEquals(300_000, readerCounters.get(Counter.STAGED_BYTES));
    }

    @Test
    void with_on_demand_paging_nothing_needs_to_be_pinned() throws Exception {
        assumeTrue(Rdma.devices().get(0).odp(), "needs a device with on-demand paging");
        RdmaNode owner = nodes.open(OWNER, ownerCounters, "pinned.maxBytes", "1m", "odp", "true");
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, TOO_LONG);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, TOO_LONG);
        assertEquals(TOO_LONG, readerCounters.get(Counter.ODP_BYTES));
        assertTrue(owner.registeredBytes() < TOO_LONG, "only the offsets are pinned");
    }

    @Test
    void a_directory_is_probed_and_left_as_it_was() throws Exception {
        RdmaNode node = nodes.open(OWNER, ownerCounters);
        List<ProbedDirectory> probed = node.probe(List.of(folder, folder.resolve("missing")));
        assertTrue(
                List.of(ProbedDirectory.Mode.RO, ProbedDirectory.Mode.RW)
                        .contains(probed.get(0).mode()),
                probed.toString());
        assertFalse(probed.get(0).fs().isEmpty());
        assertEquals(ProbedDirectory.Mode.NONE, probed.get(1).mode());
        try (var files = Files.list(folder)) {
            assertEquals(0, files.count());
        }
    }

    @Test
    void in_a_directory_that_cannot_be_registered_map_outputs_are_staged() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        TestNodes.inject("reg_mr errno=EFAULT");
        assertEquals(
                ProbedDirectory.Mode.STAGED, owner.probe(List.of(folder)).get(0).mode());
        TestNodes.clearFaults();
        byte[] file = nodes.publish(owner, 0, 11, 1000);
        assertEquals(Placement.STAGED, placementOf(0, 11));
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll().assertRead(0, file, 0, 1000);
    }

    @Test
    void a_staged_file_that_is_gone_or_truncated_makes_its_blocks_fall_back_and_others_are_read() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 10, TOO_LONG);
        nodes.publish(owner, 0, 11, TOO_LONG);
        byte[] other = nodes.publish(owner, 0, 12, TOO_LONG);
        Files.delete(folder.resolve("shuffle_0_10_0.data"));
        try (FileChannel data = FileChannel.open(folder.resolve("shuffle_0_11_0.data"), StandardOpenOption.WRITE)) {
            data.truncate(TOO_LONG / 2);
        }
        for (long mapId : new long[] {10, 11}) {
            FetchedBlocks.fetch(reader, 0, OWNER, new long[] {mapId}, 0)
                    .awaitAll()
                    .assertFellBack(0, FallbackReason.STAGING_REFUSED);
        }
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {12}, 0).awaitAll().assertRead(0, other, 0, TOO_LONG);
        assertEquals(2, ownerCounters.get(Counter.REFUSED_REQUESTS));
        assertNothingLeft(owner, reader);
    }

    @Test
    void a_removed_shuffle_is_not_staged_any_more() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 1, TOO_LONG);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        owner.removeShuffle(0);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 1)
                .awaitAll()
                .assertFellBack(0, FallbackReason.STAGING_REFUSED);
    }

    @Test
    void when_the_owner_dies_while_staging_every_block_falls_back() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters, "read.timeout", "1s");
        nodes.publish(owner, 0, 11, TOO_LONG, TOO_LONG);
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
        TestNodes.inject("send every 2 disconnect");
        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 11}, 0, 1);
        owner.close();
        blocks.awaitAll();
        await().until(() -> reader.reader().pool().lentBytes() == 0);
    }

    @Test
    void an_owner_that_does_not_answer_is_given_up_in_time() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters, SMALL);
        RdmaNode reader = nodes.open(READER, readerCounters, "read.timeout", "300ms");
        nodes.publish(owner, 0, 11, TOO_LONG);
        TestNodes.inject("send after 2 stall"); // the hello and the request go through, the answer does not
        FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.READ_TIMEOUT);
        await().until(() -> reader.reader().pool().lentBytes() == 0);
    }

    /** Random fetches of outputs in both placements under random faults and withdrawals: one outcome each, and all memory comes home. */
    @Test
    void every_block_has_exactly_one_outcome_in_whatever_placement() throws Exception {
        Random random = Seeds.random();
        RdmaNode owner = nodes.open(
                OWNER, ownerCounters, "pinned.maxBytes", "2m", "withdraw.grace", "20ms", "read.timeout", "400ms");
        RdmaNode reader = nodes.open(
                READER,
                readerCounters,
                "quarantine",
                "0ms",
                "read.timeout",
                "300ms",
                "sink.maxBytes",
                "1m",
                "sink.wait",
                "200ms");
        long[] lengths = {1000, 0, 20_000, 300_000};
        long[] starts = {0, 1000, 1000, 21_000, 321_000};
        int shuffles = 6;
        byte[][] files = new byte[shuffles][];
        String[] faults = {
            "",
            "",
            "read prob 0.05 seed 1 status=REM_ACCESS_ERR",
            "send prob 0.05 seed 2 stall",
            "send prob 0.1 seed 3 disconnect",
            "reg_mr prob 0.1 seed 4 errno=ENOMEM",
            "read prob 0.02 seed 5 stall",
            "send prob 0.1 seed 6 delay=30"
        };
        int read = 0;
        int published = 0;
        for (int round = 0; round < 24; round++) {
            TestNodes.clearFaults();
            if (round % 4 == 0) {
                files[published] = nodes.publish(owner, published, published, lengths);
                published++;
            }
            TestNodes.inject(faults[random.nextInt(faults.length)]);
            FetchedBlocks[] fetches = new FetchedBlocks[4];
            int[] shuffleIds = random.ints(fetches.length, 0, published).toArray();
            int[][] partitions = new int[fetches.length][];
            for (int i = 0; i < fetches.length; i++) {
                partitions[i] = random.ints(1 + random.nextInt(8), 0, 4).toArray();
                int mapId = shuffleIds[i];
                fetches[i] = FetchedBlocks.fetch(
                        reader,
                        shuffleIds[i],
                        OWNER,
                        Arrays.stream(partitions[i]).mapToLong(p -> mapId).toArray(),
                        partitions[i]);
            }
            for (int i = 0; i < fetches.length; i++) {
                byte[][] fileOfBlock = new byte[partitions[i].length][];
                Arrays.fill(fileOfBlock, files[shuffleIds[i]]);
                read += fetches[i].awaitAll().countRight(fileOfBlock, partitions[i], starts);
            }
        }
        assertTrue(read > 0, "some blocks must have been read");
        assertTrue(readerCounters.get(Counter.STAGED_BYTES) > 0, "some of them staged");
        TestNodes.clearFaults();
        assertNothingLeft(owner, reader);
    }
}
