package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What an owner in another process can do to a reader: everything that real kernels can act out, so this runs in
 * the lab too. After each fault every block has one outcome, and what was read is right; the next owner is read over RDMA.
 */
@Timeout(180)
class ProcessFaultTest {

    private static final String OWNER = "1";
    private static final Duration DEADLINE = Duration.ofSeconds(30);
    private static final int BLOCKS = 16;
    private static final int BLOCK_BYTES = 200_000;
    private static final int SHUFFLE = 0;
    private static final int OTHER_SHUFFLE = 1;

    @TempDir
    Path folder;

    private final byte[] file = new byte[BLOCKS * BLOCK_BYTES];
    private Resources before;
    private TestNodes nodes;
    private RdmaNode reader;
    private OwnerProcess owner;
    private long mapId; // of the owner's present life

    @BeforeEach
    void open() throws Exception {
        TestNodes.clearFaults();
        new Random(1).nextBytes(file);
        Files.write(folder.resolve("data"), file);
        before = Resources.now();
        nodes = new TestNodes(folder);
        reader = nodes.open("2", new Counters(), "quarantine", "0ms", "read.timeout", "2s");
        owner = newOwner(1);
        assertEquals(BLOCKS, read(SHUFFLE));
    }

    @AfterEach
    void nothing_is_left_over() throws Exception {
        owner.close();
        nodes.close();
        await().atMost(DEADLINE).untilAsserted(() -> assertEquals(before, Resources.now()));
    }

    @Test
    void an_owner_that_exits_or_is_killed_under_reads_leaves_one_outcome_for_each_block() throws Exception {
        for (int life = 2; life <= 3; life++) {
            List<FetchedBlocks> fetches = fetchMany(SHUFFLE);
            if (life == 2) {
                owner.signal("KILL");
            } else {
                owner.exit();
            }
            assertOneOutcomeEach(fetches);
            await().atMost(DEADLINE).until(() -> read(SHUFFLE) == 0);
            owner = newOwner(life);
            await().atMost(DEADLINE).until(() -> read(SHUFFLE) == BLOCKS);
        }
    }

    @Test
    void a_stopped_owner_is_read_as_ever() throws Exception {
        owner.signal("STOP");
        assertEquals(BLOCKS, read(SHUFFLE));
        owner.signal("CONT");
        assertEquals(BLOCKS, read(SHUFFLE));
    }

    @Test
    void a_shuffle_removed_under_reads_fails_them_and_nothing_else() throws Exception {
        List<FetchedBlocks> fetches = fetchMany(SHUFFLE);
        owner.removeShuffle(SHUFFLE);
        assertOneOutcomeEach(fetches);
        await().atMost(DEADLINE).until(() -> read(SHUFFLE) == 0);
        await().atMost(DEADLINE).until(() -> read(OTHER_SHUFFLE) == BLOCKS);
    }

    @Test
    void an_owner_that_ends_its_connections_costs_only_speed() throws Exception {
        List<FetchedBlocks> fetches = fetchMany(SHUFFLE);
        owner.closeNode();
        assertOneOutcomeEach(fetches);
        await().atMost(DEADLINE).until(() -> read(SHUFFLE) == 0);
    }

    @Test
    void a_published_file_is_served_as_it_was_though_it_is_unlinked_or_replaced() throws Exception {
        Path other = Files.write(folder.resolve("other"), new byte[file.length]);
        Files.move(other, folder.resolve("data"), StandardCopyOption.REPLACE_EXISTING);
        assertEquals(BLOCKS, read(SHUFFLE));
        Files.delete(folder.resolve("data"));
        assertEquals(BLOCKS, read(SHUFFLE));
    }

    /** Which Spark never does. Pinned pages keep what they held; softverbs, which pins none, fails the READs. */
    @Test
    void a_truncated_file_gives_what_it_held_or_nothing() throws Exception {
        try (FileChannel data = FileChannel.open(folder.resolve("data"), StandardOpenOption.WRITE)) {
            data.truncate(0);
        }
        assertOneOutcomeEach(fetchMany(SHUFFLE));
    }

    private OwnerProcess newOwner(int life) throws IOException {
        OwnerProcess started = new OwnerProcess(nodes.directory, OWNER, life);
        long[] lengths = new long[BLOCKS];
        Arrays.fill(lengths, BLOCK_BYTES);
        started.publish(SHUFFLE, 10 + life, folder.resolve("data"), lengths);
        started.publish(OTHER_SHUFFLE, 10 + life, folder.resolve("data"), lengths);
        mapId = 10 + life;
        return started;
    }

    private FetchedBlocks fetch(int shuffleId) {
        long[] mapIds = new long[BLOCKS];
        Arrays.fill(mapIds, mapId);
        int[] partitions = IntStream.range(0, BLOCKS).toArray();
        return FetchedBlocks.fetch(reader, shuffleId, OWNER, mapIds, partitions);
    }

    /** Fetches all blocks; returns how many came over RDMA, right ones all. */
    private int read(int shuffleId) {
        return rightOnes(fetch(shuffleId).awaitAll(DEADLINE));
    }

    private List<FetchedBlocks> fetchMany(int shuffleId) {
        List<FetchedBlocks> fetches = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            fetches.add(fetch(shuffleId));
        }
        return fetches;
    }

    private void assertOneOutcomeEach(List<FetchedBlocks> fetches) {
        Set<FallbackReason> expected = EnumSet.of(
                FallbackReason.READ_FAILED,
                FallbackReason.READ_TIMEOUT,
                FallbackReason.CONNECTION_LOST,
                FallbackReason.CONNECT_FAILED,
                FallbackReason.CONNECT_REJECTED);
        for (FetchedBlocks blocks : fetches) {
            rightOnes(blocks.awaitAll(DEADLINE));
            for (int block = 0; block < BLOCKS; block++) {
                int at = block;
                assertTrue(
                        blocks.isRead(block) || expected.contains(blocks.reason(block)),
                        () -> "block " + at + " ended in " + blocks.reason(at));
            }
        }
    }

    private int rightOnes(FetchedBlocks blocks) {
        int read = 0;
        for (int block = 0; block < BLOCKS; block++) {
            if (blocks.isRead(block)) {
                blocks.assertRead(block, file, (long) block * BLOCK_BYTES, (block + 1L) * BLOCK_BYTES);
                read++;
            }
        }
        return read;
    }
}
