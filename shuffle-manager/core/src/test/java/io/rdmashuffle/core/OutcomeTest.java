package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.metrics.Counters;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random interleavings of all that can happen to a fetch: it succeeds, in part or whole, its READs fail or never end, connections are
 * refused or lost, the driver is silent, the owner withdraws the shuffle or goes, the reader closes. Each block has one outcome.
 */
@Timeout(120)
class OutcomeTest {

    private static final int ROUNDS = 25;
    private static final Duration DEADLINE = Duration.ofSeconds(20);
    private static final int MAPS = 10;
    private static final long[] LENGTHS = {1000, 0, 20_000, 150_000};
    private static final long[] STARTS = {0, 1000, 1000, 21_000, 171_000};
    private static final String[] FAULTS = {
        "read prob 0.1 seed 1 status=REM_ACCESS_ERR",
        "read prob 0.1 seed 2 stall",
        "read prob 0.1 seed 3 drop",
        "read prob 0.2 seed 4 delay=20",
        "read prob 0.1 seed 5 disconnect",
        "connect prob 0.5 seed 6 reject",
        "cm_event prob 0.2 seed 7 drop",
        "reg_mr prob 0.3 seed 8 errno=ENOMEM",
        "post_send prob 0.1 seed 9 errno=ENOMEM"
    };

    @TempDir
    Path folder;

    private Random random;
    private TestNodes nodes;
    private RdmaNode owner;
    private RdmaNode reader;
    private byte[][] files;
    private boolean readerClosed;

    @Test
    void every_block_has_exactly_one_outcome_whatever_happens_when() throws Exception {
        random = Seeds.random();
        TestNodes.clearFaults();
        Resources before = Resources.now();
        int read = 0;
        int fellBack = 0;
        for (int round = 0; round < ROUNDS; round++) {
            openNodes(round);
            List<Fetched> fetches = new ArrayList<>();
            for (int step = 0; step < 12; step++) {
                if (random.nextInt(3) > 0) {
                    fetches.add(fetch());
                } else {
                    disturb();
                }
            }
            for (Fetched fetch : fetches) {
                int right = rightOnes(fetch);
                read += right;
                fellBack += fetch.mapIds.length - right;
            }
            if (!readerClosed) {
                await().atMost(DEADLINE).until(() -> reader.reader().pool().lentBytes() == 0);
            }
            nodes.close();
            await().atMost(DEADLINE).untilAsserted(() -> assertEquals(before, Resources.now()));
        }
        assertTrue(read > 0 && fellBack > 0, read + " read, " + fellBack + " fell back: both must have been seen");
    }

    private void openNodes(int round) throws Exception {
        nodes = new TestNodes(Files.createDirectory(folder.resolve("round" + round)));
        owner = nodes.open("1", new Counters());
        reader = nodes.open(
                "2",
                new Counters(),
                "quarantine",
                "0ms",
                "read.timeout",
                "200ms",
                "connect.timeout",
                "200ms",
                "sink.maxBytes",
                "1m",
                "sink.wait",
                "100ms");
        readerClosed = false;
        files = new byte[MAPS][];
        for (int map = 0; map < MAPS; map++) {
            files[map] = nodes.publish(owner, 0, map, LENGTHS);
        }
    }

    private void disturb() throws Exception {
        switch (random.nextInt(12)) {
            case 0 -> owner.removeShuffle(0);
            case 1 -> owner.close();
            case 2 -> {
                reader.close();
                readerClosed = true;
            }
            case 3 -> nodes.driver = TestNodes.Driver.SILENT;
            case 4 -> nodes.driver = TestNodes.Driver.ANSWERS;
            case 5 -> TestNodes.clearFaults();
            default -> TestNodes.inject(FAULTS[random.nextInt(FAULTS.length)]);
        }
    }

    private Fetched fetch() {
        int blocks = 1 + random.nextInt(12);
        long[] mapIds = random.longs(blocks, 0, MAPS).toArray();
        int[] partitions = random.ints(blocks, 0, LENGTHS.length).toArray();
        return new Fetched(mapIds, partitions, FetchedBlocks.fetch(reader, 0, "1", mapIds, partitions));
    }

    private record Fetched(long[] mapIds, int[] partitions, FetchedBlocks blocks) {}

    /** Waits for all outcomes; how many blocks came over RDMA, with the right bytes. */
    private int rightOnes(Fetched fetch) {
        byte[][] fileOfBlock =
                Arrays.stream(fetch.mapIds).mapToObj(map -> files[(int) map]).toArray(byte[][]::new);
        return fetch.blocks.awaitAll(DEADLINE).countRight(fileOfBlock, fetch.partitions, STARTS);
    }
}
