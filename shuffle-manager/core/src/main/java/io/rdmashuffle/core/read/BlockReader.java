package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.ReaderConnections;
import io.rdmashuffle.core.directory.LocationCache;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.memory.SinkPool;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The read walk of a process: locate, plan, post, complete, deliver. {@link Fetch} takes one request through it; here is what all
 * fetches share.
 */
public final class BlockReader implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(BlockReader.class);

    /** Sinks are planned not to exceed this, so that one slow consumer does not hold much. */
    private static final long PLANNED_SINK_BYTES = 16 << 20;

    private final EventLoop loop;
    private final LocationCache locations;
    private final ReaderConnections connections;
    private final SinkPool pool;
    private final SinkAllocator sinks;
    private final Counters counters;
    private final long maxMessageBytes;

    public BlockReader(
            EventLoop loop,
            LocationCache locations,
            ReaderConnections connections,
            long sinkMaxBytes,
            long sinkWaitMillis,
            Counters counters) {
        this.loop = loop;
        this.locations = locations;
        this.connections = connections;
        this.pool = new SinkPool(loop.endpoint(), sinkMaxBytes, this::onSinkReleased);
        this.sinks = new SinkAllocator(loop, pool, sinkWaitMillis);
        this.counters = counters;
        this.maxMessageBytes = Math.min(loop.endpoint().device().maxMessageBytes(), Integer.MAX_VALUE);
    }

    /** Begins a fetch and returns at once; the listener is told on the loop thread. Any thread. */
    public void fetch(BlockRequest request, BlockListener listener) {
        loop.submit(new Fetch(this, request, listener)::start);
    }

    /** Forgets a shuffle that was removed. Any thread. */
    public void forget(int shuffleId) {
        loop.submit(() -> locations.forget(shuffleId));
    }

    public SinkPool pool() {
        return pool;
    }

    /** Takes no more sinks; fetches that wait for one fall back. Any thread. */
    @Override
    public void close() {
        pool.close();
        loop.submit(sinks::close);
    }

    LocationCache locations() {
        return locations;
    }

    void countReads(long reads) {
        counters.add(Counter.RDMA_READS, reads);
    }

    List<ReadPlan> plan(Extents extents) {
        return ReadPlanner.plan(extents, maxMessageBytes, PLANNED_SINK_BYTES);
    }

    /** Reads a plan into a sink; the outcome is told once. */
    void read(Owner owner, ReadPlan plan, PlannedReads.Outcome outcome) {
        if (loop.hasEnded()) {
            outcome.onFailed(plan, FallbackReason.CLOSED, "");
            return;
        }
        sinks.allocate(plan.sinkBytes, new SinkAllocator.Applicant() {
            @Override
            public void onSink(Sink sink) {
                submit(owner, new PlannedReads(plan, sink, outcome));
            }

            @Override
            public void onNoSink(String detail) {
                outcome.onFailed(plan, FallbackReason.SINK_EXHAUSTED, detail);
            }
        });
    }

    private void submit(Owner owner, PlannedReads reads) {
        try {
            connections.submit(owner, reads);
        } catch (RuntimeException | Error e) {
            LOG.error("RDMA shuffle: no connection could be made; its blocks are read over TCP", e);
            reads.onFailed(FallbackReason.READ_FAILED, e.toString());
        }
    }

    private void onSinkReleased() {
        sinks.onRelease();
    }
}
