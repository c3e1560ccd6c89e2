package io.rdmashuffle.core.metrics;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/** The figures of one process as they are made. Any thread. */
public final class Counters {

    private final LongAdder[] adders = new LongAdder[Snapshot.LENGTH];
    private final Map<Gauge, LongSupplier> gauges = new ConcurrentHashMap<>();

    public Counters() {
        for (int i = 0; i < adders.length; i++) {
            adders[i] = new LongAdder();
        }
    }

    public void add(Counter counter, long amount) {
        adders[Snapshot.index(counter)].add(amount);
    }

    /** Counts blocks (on the map side: map outputs) that took the other path for this reason. */
    public void addFallbacks(FallbackReason reason, long blocks) {
        adders[Snapshot.blocksIndex(reason)].add(blocks);
    }

    /** Counts one remote block that the engine's own client delivered for this reason. */
    public void addTcpBlock(FallbackReason reason, long bytes) {
        add(Counter.TCP_BLOCKS, 1);
        add(Counter.TCP_BYTES, bytes);
        adders[Snapshot.bytesIndex(reason)].add(bytes);
    }

    /** Counts a chain of READs that completed this long after it was posted. */
    public void addReadLatency(long nanos) {
        adders[Snapshot.latencyIndex(ReadLatency.bucket(nanos))].increment();
    }

    /** Where the gauge reads its value from now on; asked by any thread. */
    public void setGauge(Gauge gauge, LongSupplier value) {
        gauges.put(gauge, value);
    }

    public long get(Counter counter) {
        return adders[Snapshot.index(counter)].sum();
    }

    public long get(FallbackReason reason) {
        return adders[Snapshot.blocksIndex(reason)].sum();
    }

    /** All values now. */
    public Snapshot snapshot() {
        long[] values = new long[adders.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = adders[i].sum();
        }
        gauges.forEach((gauge, value) -> values[Snapshot.index(gauge)] = value.getAsLong());
        return Snapshot.of(values);
    }
}
