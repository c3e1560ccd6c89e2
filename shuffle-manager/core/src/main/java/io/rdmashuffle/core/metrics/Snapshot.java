package io.rdmashuffle.core.metrics;

import java.util.Arrays;
import java.util.StringJoiner;

/**
 * All figures of a process at one time, or of several added up. Travels as an array of longs: counters, gauges, blocks by fallback
 * reason, bytes by fallback reason, buckets of the READ latency; each in the order of its enum.
 */
public final class Snapshot {

    private static final int GAUGES = Counter.values().length;
    private static final int BLOCKS = GAUGES + Gauge.values().length;
    private static final int BYTES = BLOCKS + FallbackReason.values().length;
    private static final int LATENCY = BYTES + FallbackReason.values().length;

    static final int LENGTH = LATENCY + ReadLatency.BUCKETS;

    private final long[] values;

    private Snapshot(long[] values) {
        this.values = values;
    }

    /** Nothing happened. */
    public static Snapshot zero() {
        return new Snapshot(new long[LENGTH]);
    }

    /** What a process sent; a missing end counts as zero, a surplus is dropped. */
    public static Snapshot of(long[] values) {
        return new Snapshot(Arrays.copyOf(values, LENGTH));
    }

    public long get(Counter counter) {
        return values[index(counter)];
    }

    public long get(Gauge gauge) {
        return values[index(gauge)];
    }

    /** Blocks (on the map side: map outputs) that took the other path for this reason. */
    public long blocks(FallbackReason reason) {
        return values[blocksIndex(reason)];
    }

    /** Bytes that the engine's own client delivered for this reason. */
    public long bytes(FallbackReason reason) {
        return values[bytesIndex(reason)];
    }

    public ReadLatency readLatency() {
        return new ReadLatency(Arrays.copyOfRange(values, LATENCY, LENGTH));
    }

    public Snapshot plus(Snapshot other) {
        long[] sum = values.clone();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += other.values[i];
        }
        return new Snapshot(sum);
    }

    /** As of a process that has ended: what it did stays, it has nothing any more. */
    public Snapshot ended() {
        long[] ended = values.clone();
        Arrays.fill(ended, GAUGES, BLOCKS, 0);
        return new Snapshot(ended);
    }

    /** A copy, to be sent. */
    public long[] toArray() {
        return values.clone();
    }

    @Override
    public String toString() {
        StringJoiner text = new StringJoiner(", ", "[", "]");
        for (Counter counter : Counter.values()) {
            add(text, counter.name(), get(counter));
        }
        for (Gauge gauge : Gauge.values()) {
            add(text, gauge.name(), get(gauge));
        }
        for (FallbackReason reason : FallbackReason.values()) {
            add(text, reason.name(), blocks(reason));
        }
        return text.toString();
    }

    private static void add(StringJoiner text, String name, long value) {
        if (value != 0) {
            text.add(name + " " + value);
        }
    }

    static int index(Counter counter) {
        return counter.ordinal();
    }

    static int index(Gauge gauge) {
        return GAUGES + gauge.ordinal();
    }

    static int blocksIndex(FallbackReason reason) {
        return BLOCKS + reason.ordinal();
    }

    static int bytesIndex(FallbackReason reason) {
        return BYTES + reason.ordinal();
    }

    static int latencyIndex(int bucket) {
        return LATENCY + bucket;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Snapshot snapshot && Arrays.equals(values, snapshot.values);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(values);
    }
}
