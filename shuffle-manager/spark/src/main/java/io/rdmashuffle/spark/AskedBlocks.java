package io.rdmashuffle.spark;

import io.rdmashuffle.core.read.BlockRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The blocks one reduce task has asked for over RDMA. Spark's fetch iterator asks for a block again, alone, when it looked into the
 * bytes it got ({@code spark.shuffle.detectCorrupt.useExtraMemory}) and they did not decode; the second time they should come
 * another way. On the task thread.
 */
final class AskedBlocks {

    private final Map<String, List<BlockRequest>> byExecutor = new HashMap<>();

    /** Whether this one block was asked for before; if not, or if they are several, remembers them. */
    boolean askedBefore(BlockRequest request) {
        List<BlockRequest> earlier = byExecutor.computeIfAbsent(request.executorId(), id -> new ArrayList<>());
        if (request.size() == 1 && earlier.stream().anyMatch(other -> contains(other, request))) {
            return true;
        }
        earlier.add(request);
        return false;
    }

    void clear() {
        byExecutor.clear();
    }

    private static boolean contains(BlockRequest earlier, BlockRequest one) {
        for (int i = 0; i < earlier.size(); i++) {
            if (earlier.mapIds()[i] == one.mapIds()[0]
                    && earlier.startPartitions()[i] == one.startPartitions()[0]
                    && earlier.endPartitions()[i] == one.endPartitions()[0]) {
                return true;
            }
        }
        return false;
    }
}
