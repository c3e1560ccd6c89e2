package io.rdmashuffle.core.read;

/**
 * Blocks of one shuffle wanted from one executor, as columns. A block is the run of reduce partitions
 * {@code [startPartitions[i], endPartitions[i])} of the map output {@code mapIds[i]}. The arrays are not changed after they were
 * handed over.
 */
public record BlockRequest(
        int shuffleId, String executorId, long[] mapIds, int[] startPartitions, int[] endPartitions) {

    public int size() {
        return mapIds.length;
    }
}
