package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.ReadTask.StagedOutputs;
import java.util.Arrays;

/**
 * READs into one sink, as columns, and which extents they bring. Extent {@code firstExtent + i} begins in the sink where the one
 * before it ends. Made by {@link ReadPlanner}; not changed afterwards.
 */
final class ReadPlan {

    final int firstExtent;
    final StagedOutputs stagedOutputs; // null for registered memory
    int extents;
    long sinkBytes;

    private long[] remoteAddresses = new long[16];
    private int[] rkeys = new int[16];
    private int[] lengths = new int[16];
    private int reads;

    ReadPlan(int firstExtent, StagedOutputs stagedOutputs) {
        this.firstExtent = firstExtent;
        this.stagedOutputs = stagedOutputs;
    }

    int reads() {
        return reads;
    }

    long remoteAddress(int read) {
        return remoteAddresses[read];
    }

    int rkey(int read) {
        return rkeys[read];
    }

    int lengthBytes(int read) {
        return lengths[read];
    }

    /** Adds bytes to the last READ if they go on where it ends and the message stays within its limit. */
    boolean extendLast(long address, int rkey, int lengthBytes, long maxMessageBytes) {
        int last = reads - 1;
        if (last < 0
                || rkeys[last] != rkey
                || remoteAddresses[last] + lengths[last] != address
                || (long) lengths[last] + lengthBytes > maxMessageBytes) {
            return false;
        }
        lengths[last] += lengthBytes;
        return true;
    }

    void addRead(long address, int rkey, int lengthBytes) {
        if (reads == lengths.length) {
            remoteAddresses = Arrays.copyOf(remoteAddresses, 2 * reads);
            rkeys = Arrays.copyOf(rkeys, 2 * reads);
            lengths = Arrays.copyOf(lengths, 2 * reads);
        }
        remoteAddresses[reads] = address;
        rkeys[reads] = rkey;
        lengths[reads++] = lengthBytes;
    }
}
