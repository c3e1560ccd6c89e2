package io.rdmashuffle.core.metrics;

import java.util.concurrent.atomic.LongAdder;

/** The counters of one process. Any thread. */
public final class Counters {

    /** Longs in a snapshot: the counters, then the fallbacks, each in the order of its enum. */
    public static final int SNAPSHOT_LENGTH = Counter.values().length + FallbackReason.values().length;

    private final LongAdder[] adders = new LongAdder[SNAPSHOT_LENGTH];

    public Counters() {
        for (int i = 0; i < adders.length; i++) {
            adders[i] = new LongAdder();
        }
    }

    public void add(Counter counter, long amount) {
        adders[counter.ordinal()].add(amount);
    }

    /** Counts blocks (on the map side: map outputs) that took the other path for this reason. */
    public void addFallbacks(FallbackReason reason, long blocks) {
        adders[index(reason)].add(blocks);
    }

    public long get(Counter counter) {
        return adders[counter.ordinal()].sum();
    }

    public long get(FallbackReason reason) {
        return adders[index(reason)].sum();
    }

    /** All values since the start of the process. */
    public long[] snapshot() {
        long[] values = new long[adders.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = adders[i].sum();
        }
        return values;
    }

    /** Where a reason stands in a snapshot. */
    public static int index(FallbackReason reason) {
        return Counter.values().length + reason.ordinal();
    }
}
