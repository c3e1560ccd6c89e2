package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.read.BlockRequest;
import io.rdmashuffle.core.read.SliceListener;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Blocks too long for memory. Sinks of 1 MiB in all, so slices of 256 KiB. */
@Timeout(90)
class SlicedFetchTest extends NodeTest {

    private final ExecutorService disk = Executors.newSingleThreadExecutor();
    private RdmaNode owner;
    private RdmaNode reader;

    @BeforeEach
    void open() throws Exception {
        owner = nodes.open(OWNER, ownerCounters);
        reader =
                nodes.open(READER, readerCounters, "sink.maxBytes", "1m", "quarantine", "0ms", "read.timeout", "300ms");
    }

    @AfterEach
    void close() {
        disk.shutdown();
    }

    private SlicedBlocks fetch(long[] mapIds, int... partitions) {
        return SlicedBlocks.fetch(reader, OWNER, disk, block -> false, mapIds, partitions);
    }

    private void assertNothingLent() {
        await().until(() -> reader.reader().pool().lentBytes() == 0);
    }

    @Test
    void a_block_larger_than_all_sinks_arrives_byte_for_byte_through_two_of_them() throws Exception {
        byte[] file = nodes.publish(owner, 0, 11, 1000, 5_000_001, 7);
        SlicedBlocks blocks = fetch(new long[] {11, 11}, 1, 2).awaitAll();
        blocks.assertRead(0, file, 1000, 5_001_001);
        blocks.assertRead(1, file, 5_001_001, 5_001_008);
        assertTrue(blocks.mostHeld() <= 2, blocks.mostHeld() + " slices at a time");
        assertNothingLent();
    }

    @Test
    void many_blocks_some_of_them_empty_arrive_one_after_the_other() throws Exception {
        byte[] file = nodes.publish(owner, 0, 11, 600_000, 0, 300_000, 1);
        SlicedBlocks blocks = fetch(new long[] {11, 11, 11, 11}, 0, 1, 2, 3).awaitAll();
        blocks.assertRead(0, file, 0, 600_000);
        blocks.assertRead(1, file, 600_000, 600_000);
        blocks.assertRead(2, file, 600_000, 900_000);
        blocks.assertRead(3, file, 900_000, 900_001);
    }

    @Test
    void a_block_that_cannot_be_written_falls_back_and_the_next_goes_on() throws Exception {
        byte[] file = nodes.publish(owner, 0, 11, 2_000_000, 600_000);
        SlicedBlocks blocks = SlicedBlocks.fetch(reader, OWNER, disk, block -> block == 0, new long[] {11, 11}, 0, 1)
                .awaitAll();
        blocks.assertFellBack(0, FallbackReason.DOWNLOAD_FAILED);
        blocks.assertRead(1, file, 2_000_000, 2_600_000);
        assertNothingLent();
    }

    @Test
    void a_read_that_fails_in_the_middle_makes_the_block_fall_back() throws Exception {
        nodes.publish(owner, 0, 11, 5_000_000);
        TestNodes.inject("read when 5 status=RETRY_EXC_ERR");
        fetch(new long[] {11}, 0).awaitAll().assertFellBack(0, FallbackReason.READ_FAILED);
        assertNothingLent();
    }

    @Test
    void thousands_of_blocks_that_fail_at_once_fall_back_each() throws Exception {
        RdmaNode patient = nodes.open("3", new Counters());
        nodes.publish(owner, 0, 11, 1, 1);
        TestNodes.inject("connect when 1 reject");
        SlicedBlocks.fetch(patient, OWNER, disk, block -> false, new long[] {11}, 0)
                .awaitAll();
        long[] mapIds = new long[5000];
        Arrays.fill(mapIds, 11);
        SlicedBlocks blocks = SlicedBlocks.fetch(patient, OWNER, disk, block -> false, mapIds, new int[mapIds.length])
                .awaitAll();
        for (int block = 0; block < mapIds.length; block++) {
            blocks.assertFellBack(block, FallbackReason.QUARANTINED);
        }
    }

    @Test
    void a_slice_that_comes_after_its_block_fell_back_is_not_handed_over() throws Exception {
        nodes.publish(owner, 0, 11, 2_000_000, 600_000);
        TestNodes.inject("read when 3 delay=200"); // offsets, the first slice, the second
        FailsFirstBlock listener = new FailsFirstBlock(new AtomicInteger(), new CompletableFuture<>());
        reader.reader()
                .fetchInSlices(
                        new BlockRequest(0, OWNER, new long[] {11, 11}, new int[] {0, 1}, new int[] {1, 2}), listener);
        listener.secondArrived.get(20, TimeUnit.SECONDS);
        assertEquals(1, listener.slicesOfFirst.get());
        assertNothingLent();
    }

    /** The first block cannot be written. */
    private record FailsFirstBlock(AtomicInteger slicesOfFirst, CompletableFuture<Void> secondArrived)
            implements SliceListener {

        @Override
        public void onSlice(int block, Slice slice) {
            if (block == 0) {
                slicesOfFirst.incrementAndGet();
                slice.failed("disk full");
                return;
            }
            if (slice.isLast()) {
                secondArrived.complete(null);
            }
            slice.consumed();
        }

        @Override
        public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
            throw new AssertionError("both blocks have bytes");
        }

        @Override
        public void onFallback(int[] blocks, FallbackReason reason, String detail) {}
    }

    @Test
    void when_the_reader_closes_what_is_left_falls_back() throws Exception {
        nodes.publish(owner, 0, 11, 5_000_000);
        CompletableFuture<SliceListener.Slice> first = new CompletableFuture<>();
        CompletableFuture<FallbackReason> fallback = new CompletableFuture<>();
        reader.reader()
                .fetchInSlices(
                        new BlockRequest(0, OWNER, new long[] {11}, new int[] {0}, new int[] {1}),
                        new Holder(first, fallback));
        SliceListener.Slice held = first.get(20, TimeUnit.SECONDS);
        reader.close();
        held.consumed();
        assertTrue(fallback.get(20, TimeUnit.SECONDS) != null);
    }

    /** Keeps all slices, so that the block cannot end; hands out the first. */
    private record Holder(CompletableFuture<Slice> first, CompletableFuture<FallbackReason> fallback)
            implements SliceListener {

        @Override
        public void onSlice(int block, Slice slice) {
            first.complete(slice);
        }

        @Override
        public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
            throw new AssertionError("the block has bytes");
        }

        @Override
        public void onFallback(int[] blocks, FallbackReason reason, String detail) {
            fallback.complete(reason);
        }
    }

    @Test
    void every_block_has_exactly_one_outcome_whatever_fails() throws Exception {
        Random random = Seeds.random();
        byte[][] files = new byte[5][];
        for (int map = 0; map < files.length; map++) {
            files[map] = nodes.publish(owner, 0, map, 1000, 0, 700_000, 1_500_000);
        }
        long[] starts = {0, 1000, 1000, 701_000, 2_201_000};
        String[] faults = {
            "", "read prob 0.05 seed 1 status=REM_ACCESS_ERR", "read prob 0.05 seed 2 stall",
            "connect prob 0.3 seed 3 reject", "reg_mr prob 0.2 seed 4 errno=ENOMEM", "read prob 0.05 seed 5 disconnect"
        };
        int read = 0;
        List<String> outcomes = new ArrayList<>();
        for (int round = 0; round < 20; round++) {
            TestNodes.inject(faults[random.nextInt(faults.length)]);
            long diskFails = random.nextInt(4);
            long[] mapIds = random.longs(1 + random.nextInt(5), 0, files.length).toArray();
            int[] partitions = random.ints(mapIds.length, 0, 4).toArray();
            SlicedBlocks blocks =
                    SlicedBlocks.fetch(reader, OWNER, disk, block -> block == diskFails, mapIds, partitions);
            FetchedBlocks beside = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {0}, 0);
            byte[][] fileOfBlock =
                    Arrays.stream(mapIds).mapToObj(map -> files[(int) map]).toArray(byte[][]::new);
            read += blocks.awaitAll().countRight(fileOfBlock, partitions, starts);
            outcomes.add(beside.awaitAll() + " beside " + blocks);
        }
        assertTrue(read > 0, () -> "some blocks must have been read, but: " + outcomes);
        assertNothingLent();
    }

    /** A sparse file, so that it costs no disk. */
    @Test
    void a_partition_above_2_gib_and_one_beyond_4_gib_are_read() throws Exception {
        long[] lengths = {(2L << 30) + 5, 2L << 30, 1000};
        Path file = folder.resolve("shuffle_0_21_0.data");
        long[] marks = {0, 1L << 30, (2L << 30) + 4, (4L << 30) + 5, (4L << 30) + 1004};
        try (RandomAccessFile sparse = new RandomAccessFile(file.toFile(), "rw")) {
            sparse.setLength((4L << 30) + 1005);
            for (long mark : marks) {
                sparse.seek(mark);
                sparse.write(7);
            }
        }
        RdmaNode large = nodes.open("4", new Counters(), "pinned.maxBytes", "8g");
        TestNodes.publish(large, 0, 21, file, lengths);
        RdmaNode spacious = nodes.open("3", new Counters());
        Marks seen = new Marks();
        spacious.reader().fetchInSlices(new BlockRequest(0, "4", new long[] {21}, new int[] {0}, new int[] {1}), seen);
        assertEquals("0 1073741824 2147483652 of 2147483653", seen.whole.get(60, TimeUnit.SECONDS));
        byte[] last = new byte[1000];
        last[0] = last[999] = 7;
        FetchedBlocks.fetch(spacious, 0, "4", new long[] {21}, 2).awaitAll().assertRead(0, last, 0, 1000);
        large.removeShuffle(0);
    }

    /** Where in a block the bytes are that are not 0. */
    private static final class Marks implements SliceListener {

        private final CompletableFuture<String> whole = new CompletableFuture<>();
        private final StringBuilder seen = new StringBuilder();
        private long position;

        @Override
        public void onSlice(int block, Slice slice) {
            ByteBuffer bytes = slice.bytes();
            ByteBuffer zeros = ByteBuffer.allocate(bytes.remaining());
            for (int at = bytes.mismatch(zeros); at >= 0; at = nextMark(bytes, zeros, at)) {
                seen.append(position + at).append(' ');
            }
            position += bytes.limit();
            if (slice.isLast()) {
                whole.complete(seen + "of " + position);
            }
            slice.consumed();
        }

        private static int nextMark(ByteBuffer bytes, ByteBuffer zeros, int at) {
            int from = at + 1;
            int next = bytes.slice(from, bytes.limit() - from).mismatch(zeros.slice(from, bytes.limit() - from));
            return next < 0 ? -1 : from + next;
        }

        @Override
        public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
            whole.complete("no slices");
        }

        @Override
        public void onFallback(int[] blocks, FallbackReason reason, String detail) {
            whole.complete(reason + " " + detail);
        }
    }
}
