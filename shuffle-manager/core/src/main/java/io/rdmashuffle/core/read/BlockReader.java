package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.ReaderConnections;
import io.rdmashuffle.core.directory.LocationCache;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.memory.SinkPool;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.List;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The read walk of a process: locate, plan, post, complete, deliver. {@link Fetch} takes one request through it; here is what all
 * fetches share.
 */
public final class BlockReader implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(BlockReader.class);

    /**
     * Sinks are planned not to exceed this, as the blocks of a sink are handed over together: the task works on the first blocks of a
     * fetch while the others are on their way, and one slow consumer does not hold much.
     */
    private static final long PLANNED_SINK_BYTES = 256 << 10;

    /** The same for the slices of long blocks, which go to disk. */
    private static final long MAX_SLICE_BYTES = 16 << 20;

    /** What the settings allow in bytes: of sinks, and on their way from each owner and from all. */
    public record Limits(
            PinnedBudget sinks, long sinkWaitMillis, long inFlightMaxBytes, long inFlightMaxBytesPerOwner) {}

    private final EventLoop loop;
    private final LocationCache locations;
    private final ReaderConnections connections;
    private final SinkPool pool;
    private final SinkAllocator sinks;
    private final InFlight inFlight;
    private final long plannedSinkBytes;
    private final int sliceBytes;
    private final IntConsumer onFetch;
    private final Counters counters;
    private final long maxMessageBytes;

    /** @param onFetch told the shuffle of each fetch, on the loop thread */
    public BlockReader(
            EventLoop loop,
            LocationCache locations,
            ReaderConnections connections,
            Limits limits,
            IntConsumer onFetch,
            Counters counters) {
        this.loop = loop;
        this.locations = locations;
        this.connections = connections;
        this.pool = new SinkPool(loop.endpoint(), limits.sinks, this::onSinkReleased);
        this.sinks = new SinkAllocator(loop, pool, limits.sinkWaitMillis);
        this.inFlight = new InFlight(limits.inFlightMaxBytes, limits.inFlightMaxBytesPerOwner);
        // several fetches are to have a sink, or their two slices, at a time
        long shareOfSinks = limits.sinks.maxBytes() / 4;
        long mostAtOnce = Math.min(shareOfSinks, Math.min(limits.inFlightMaxBytes, limits.inFlightMaxBytesPerOwner));
        this.plannedSinkBytes = Math.min(PLANNED_SINK_BYTES, mostAtOnce);
        this.sliceBytes = (int) Long.highestOneBit(Math.min(MAX_SLICE_BYTES, mostAtOnce));
        this.onFetch = onFetch;
        this.counters = counters;
        this.maxMessageBytes = Math.min(loop.endpoint().device().maxMessageBytes(), Integer.MAX_VALUE);
    }

    /** Begins a fetch and returns at once; the listener is told on the loop thread. Any thread. */
    public void fetch(BlockRequest request, BlockListener listener) {
        start(request, new Fetch(this, request, listener));
    }

    /** The same for blocks that are too long for memory. */
    public void fetchInSlices(BlockRequest request, SliceListener listener) {
        start(request, new SlicedFetch(this, request, listener));
    }

    private void start(BlockRequest request, Fetch fetch) {
        loop.submit(() -> {
            onFetch.accept(request.shuffleId());
            fetch.start();
        });
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

    void countBlock(Placement placement, long bytes) {
        switch (placement) {
            case DIRECT -> countBlock(Counter.DIRECT_BLOCKS, Counter.DIRECT_BYTES, bytes);
            case ODP -> countBlock(Counter.ODP_BLOCKS, Counter.ODP_BYTES, bytes);
            case STAGED -> countBlock(Counter.STAGED_BLOCKS, Counter.STAGED_BYTES, bytes);
        }
    }

    private void countBlock(Counter blocksCounter, Counter bytesCounter, long bytes) {
        counters.add(blocksCounter, 1);
        counters.add(bytesCounter, bytes);
    }

    List<ReadPlan> plan(Extents extents) {
        return ReadPlanner.plan(extents, maxMessageBytes, plannedSinkBytes);
    }

    /** Most bytes of a slice of a long block. */
    int sliceBytes() {
        return sliceBytes;
    }

    /** Any thread. */
    void onLoop(Runnable work) {
        loop.submit(work);
    }

    /** Reads a plan into a sink, when its bytes may be on their way; the outcome is told once. */
    void read(Owner owner, ReadPlan plan, PlannedReads.Outcome outcome) {
        inFlight.enter(owner.incarnation(), plan.sinkBytes, new Passing(owner, plan, outcome)::start);
    }

    private void onSinkReleased() {
        sinks.onRelease();
    }

    /** A plan whose bytes may be on their way. */
    private final class Passing implements SinkAllocator.Applicant {

        private final Owner owner;
        private final ReadPlan plan;
        private final PlannedReads.Outcome outcome;
        private boolean left;

        Passing(Owner owner, ReadPlan plan, PlannedReads.Outcome outcome) {
            this.owner = owner;
            this.plan = plan;
            this.outcome = outcome;
        }

        void start() {
            if (loop.hasEnded()) {
                fail(FallbackReason.CLOSED, "");
                return;
            }
            try {
                sinks.allocate(plan.sinkBytes, this);
            } catch (RuntimeException | Error e) {
                // a defect of ours: no block may be lost by it, nor one of whoever made room for this plan
                LOG.error("RDMA shuffle: a plan could not be read; its blocks are read over TCP", e);
                fail(FallbackReason.READ_FAILED, e.toString());
            }
        }

        @Override
        public void onSink(Sink sink) {
            PlannedReads reads = new PlannedReads(plan, sink, outcome, this::leave);
            try {
                connections.submit(owner, reads);
            } catch (RuntimeException | Error e) {
                LOG.error("RDMA shuffle: no connection could be made; its blocks are read over TCP", e);
                reads.onFailed(FallbackReason.READ_FAILED, e.toString());
            }
        }

        @Override
        public void onNoSink(String detail) {
            fail(FallbackReason.SINK_EXHAUSTED, detail);
        }

        private void fail(FallbackReason reason, String detail) {
            leave();
            outcome.onFailed(plan, reason, detail);
        }

        private void leave() {
            if (!left) {
                left = true;
                inFlight.leave(owner.incarnation(), plan.sinkBytes);
            }
        }
    }
}
