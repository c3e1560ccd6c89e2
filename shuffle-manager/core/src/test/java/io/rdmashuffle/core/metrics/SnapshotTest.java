package io.rdmashuffle.core.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SnapshotTest {

    private final Counters counters = new Counters();

    @Test
    void figures_of_processes_add_up() {
        counters.add(Counter.RDMA_BYTES, 7);
        counters.addFallbacks(FallbackReason.NOT_PUBLISHED, 2);
        counters.addTcpBlock(FallbackReason.NOT_PUBLISHED, 100);
        counters.setGauge(Gauge.REGISTERED_BYTES, () -> 50);
        Snapshot twice = counters.snapshot().plus(counters.snapshot());
        assertEquals(14, twice.get(Counter.RDMA_BYTES));
        assertEquals(4, twice.blocks(FallbackReason.NOT_PUBLISHED));
        assertEquals(200, twice.bytes(FallbackReason.NOT_PUBLISHED));
        assertEquals(2, twice.get(Counter.TCP_BLOCKS));
        assertEquals(100, twice.get(Gauge.REGISTERED_BYTES));
    }

    @Test
    void what_another_version_sent_is_read_as_far_as_it_goes() {
        counters.add(Counter.RDMA_BYTES, 7);
        long[] sent = counters.snapshot().toArray();
        assertEquals(7, Snapshot.of(Arrays.copyOf(sent, 3)).get(Counter.RDMA_BYTES));
        assertEquals(counters.snapshot(), Snapshot.of(Arrays.copyOf(sent, sent.length + 5)));
    }

    @Test
    void a_quantile_is_the_bound_of_its_bucket() {
        for (int i = 0; i < 98; i++) {
            counters.addReadLatency(TimeUnit.MICROSECONDS.toNanos(3));
        }
        counters.addReadLatency(TimeUnit.MICROSECONDS.toNanos(900));
        counters.addReadLatency(TimeUnit.HOURS.toNanos(1));
        ReadLatency latency = counters.snapshot().readLatency();
        assertEquals(100, latency.count());
        assertEquals(4, latency.quantileMicros(0.5));
        assertEquals(4, latency.quantileMicros(0.98));
        assertEquals(1024, latency.quantileMicros(0.99));
        assertEquals(1L << ReadLatency.BUCKETS - 1, latency.quantileMicros(1));
    }

    @Test
    void without_reads_there_is_no_latency() {
        assertEquals(0, counters.snapshot().readLatency().quantileMicros(0.99));
    }
}
