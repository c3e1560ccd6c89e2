package io.rdmashuffle.core;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.directory.LocationTable;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.directory.MessageCodec;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Offsets come from another process's memory: whatever they say, a reader reads right ranges of the map output or falls back. */
@Timeout(60)
class OffsetsFuzzTest {

    private static final int PARTITIONS = 63;
    private static final int FILE_BYTES = 8 * (PARTITIONS + 1);
    private static final int OUTPUTS = 100;

    @TempDir
    Path folder;

    @Test
    void offsets_that_make_no_sense_make_just_their_blocks_fall_back() throws Exception {
        Random random = Seeds.random();
        int[] partitions = IntStream.range(0, PARTITIONS).toArray();
        TestNodes.clearFaults();
        try (TestNodes nodes = new TestNodes(folder)) {
            RdmaNode owner = nodes.open("1", new Counters());
            RdmaNode reader = nodes.open("2", new Counters());
            for (int mapId = 0; mapId < OUTPUTS; mapId++) {
                ByteBuffer row = randomRow(random);
                publishAsItsOwnOffsets(nodes, owner, mapId, row.array());
                long[] mapIds = new long[PARTITIONS];
                Arrays.fill(mapIds, mapId);
                FetchedBlocks blocks =
                        FetchedBlocks.fetch(reader, 0, "1", mapIds, partitions).awaitAll();
                for (int partition : partitions) {
                    long start = row.getLong(8 * partition);
                    long end = row.getLong(8 * partition + 8);
                    if (0 <= start && start <= end && end <= FILE_BYTES) {
                        blocks.assertRead(partition, row.array(), start, end);
                    } else {
                        assertEquals(FallbackReason.BAD_OFFSETS, blocks.reason(partition));
                    }
                }
            }
        }
    }

    /** Mostly sensible, so that blocks of one row end in both ways. */
    private static ByteBuffer randomRow(Random random) {
        ByteBuffer row = ByteBuffer.allocate(FILE_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        while (row.hasRemaining()) {
            row.putLong(
                    switch (random.nextInt(8)) {
                        case 0 -> random.nextLong();
                        case 1 -> FILE_BYTES + random.nextInt(3) - 1;
                        case 2 -> -random.nextInt(3);
                        case 3 -> 1L << random.nextInt(64);
                        default -> row.position();
                    });
        }
        return row;
    }

    /** Publishes a file and then announces the file itself as the row of its offsets. */
    private void publishAsItsOwnOffsets(TestNodes nodes, RdmaNode owner, long mapId, byte[] file) throws Exception {
        Path data = Files.write(folder.resolve("data" + mapId), file);
        long[] lengths = new long[PARTITIONS];
        lengths[0] = file.length;
        TestNodes.publish(owner, 0, mapId, data, lengths);
        LocationTable outputs = nodes.locations(0);
        int row = outputs.find(mapId);
        MapOutputLocation location = outputs.location(row);
        MapOutputLocation forged = new MapOutputLocation(
                mapId,
                location.placement(),
                location.dataAddress(),
                location.dataRkey(),
                location.dataBytes(),
                location.dataAddress(),
                location.dataRkey(),
                PARTITIONS);
        nodes.directory.handle(
                MessageCodec.encode(new Message.Publish(0, outputs.owner(row).incarnation(), forged)));
    }
}
