package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.ReadTask.StagedOutputs;
import java.util.Arrays;

/** Ranges of remote memory, as columns: what is to be read, in the order in which it is wanted. Not thread-safe. */
final class Extents {

    private final StagedOutputs stagedOutputs;
    private long[] addresses;
    private int[] rkeys;
    private int[] lengths;
    private int size;

    /** Of registered memory. */
    Extents(int capacity) {
        this(capacity, null);
    }

    /**
     * @param stagedOutputs null for registered memory; else keys and addresses mean what
     *     {@link io.rdmashuffle.core.connection.ReadTask#stagedOutputs} says
     */
    Extents(int capacity, StagedOutputs stagedOutputs) {
        this.stagedOutputs = stagedOutputs;
        addresses = new long[capacity];
        rkeys = new int[capacity];
        lengths = new int[capacity];
    }

    /** @param lengthBytes at least 1 */
    void add(long address, int rkey, int lengthBytes) {
        if (size == addresses.length) {
            int capacity = Math.max(16, 2 * size);
            addresses = Arrays.copyOf(addresses, capacity);
            rkeys = Arrays.copyOf(rkeys, capacity);
            lengths = Arrays.copyOf(lengths, capacity);
        }
        addresses[size] = address;
        rkeys[size] = rkey;
        lengths[size++] = lengthBytes;
    }

    StagedOutputs stagedOutputs() {
        return stagedOutputs;
    }

    int size() {
        return size;
    }

    long address(int i) {
        return addresses[i];
    }

    int rkey(int i) {
        return rkeys[i];
    }

    int lengthBytes(int i) {
        return lengths[i];
    }
}
