package io.rdmashuffle.spark;

import io.rdmashuffle.core.read.BlockRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The blocks of one call that can be read over RDMA, as columns, and those that cannot. */
final class BlockIds {

    private static final String PREFIX = "shuffle_";

    private final String[] readable;
    private final long[] mapIds;
    private final int[] starts;
    private final int[] ends;
    private final List<String> unsupported = new ArrayList<>();
    private int shuffleId;
    private int count;

    BlockIds(String[] blockIds) {
        readable = new String[blockIds.length];
        mapIds = new long[blockIds.length];
        starts = new int[blockIds.length];
        ends = new int[blockIds.length];
        for (String blockId : blockIds) {
            add(blockId);
        }
    }

    /** In the order of {@link #request}. */
    String[] readable() {
        return Arrays.copyOf(readable, count);
    }

    String[] unsupported() {
        return unsupported.toArray(String[]::new);
    }

    BlockRequest request(String execId) {
        return new BlockRequest(
                shuffleId,
                execId,
                Arrays.copyOf(mapIds, count),
                Arrays.copyOf(starts, count),
                Arrays.copyOf(ends, count));
    }

    private void add(String blockId) {
        try {
            if (!parse(blockId)) {
                unsupported.add(blockId); // a push-merged chunk
            }
        } catch (NumberFormatException e) {
            unsupported.add(blockId);
        }
    }

    /**
     * Understands {@code shuffle_SHUFFLE_MAP_REDUCE} and the batch {@code shuffle_SHUFFLE_MAP_START_END}. By hand, as Spark's own
     * parser tries one regular expression after the other, which cost more than all else that is done here for a block.
     */
    private boolean parse(String blockId) {
        int map = blockId.startsWith(PREFIX) ? blockId.indexOf('_', PREFIX.length()) + 1 : 0;
        int start = map == 0 ? 0 : blockId.indexOf('_', map) + 1;
        if (start == 0) {
            return false;
        }
        int separator = blockId.indexOf('_', start);
        int startEnd = separator < 0 ? blockId.length() : separator;
        int shuffle = Integer.parseInt(blockId, PREFIX.length(), map - 1, 10);
        long mapId = Long.parseLong(blockId, map, start - 1, 10);
        int first = Integer.parseInt(blockId, start, startEnd, 10);
        int end = separator < 0 ? first + 1 : Integer.parseInt(blockId, separator + 1, blockId.length(), 10);
        add(blockId, shuffle, mapId, first, end);
        return true;
    }

    private void add(String blockId, int shuffle, long mapId, int start, int end) {
        if (count > 0 && shuffle != shuffleId) {
            unsupported.add(blockId); // a reader reads one shuffle
            return;
        }
        shuffleId = shuffle;
        readable[count] = blockId;
        mapIds[count] = mapId;
        starts[count] = start;
        ends[count++] = end;
    }
}
