package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.ReadTask;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A plan on its way into its sink; drops its reference to the sink after the outcome was told. Loop thread only. */
final class PlannedReads implements ReadTask {

    /** Is told the outcome once. */
    interface Outcome {
        /** The sink is borrowed for the call. */
        void onRead(ReadPlan plan, Sink sink);

        void onFailed(ReadPlan plan, FallbackReason reason, String detail);
    }

    private static final Logger LOG = LoggerFactory.getLogger(PlannedReads.class);

    private final ReadPlan plan;
    private final Sink sink;
    private final Outcome outcome;
    private final Runnable onEnd;
    private final long[] localAddresses;

    /** @param onEnd run when nothing is under way any more, before the outcome is told */
    PlannedReads(ReadPlan plan, Sink sink, Outcome outcome, Runnable onEnd) {
        this.plan = plan;
        this.sink = sink;
        this.outcome = outcome;
        this.onEnd = onEnd;
        this.localAddresses = new long[plan.reads()];
        long at = sink.address();
        for (int i = 0; i < localAddresses.length; i++) {
            localAddresses[i] = at;
            at += plan.lengthBytes(i);
        }
    }

    @Override
    public int size() {
        return plan.reads();
    }

    @Override
    public long localAddress(int read) {
        return localAddresses[read];
    }

    @Override
    public int lkey() {
        return sink.lkey();
    }

    @Override
    public long remoteAddress(int read) {
        return plan.remoteAddress(read);
    }

    @Override
    public int rkey(int read) {
        return plan.rkey(read);
    }

    @Override
    public int lengthBytes(int read) {
        return plan.lengthBytes(read);
    }

    @Override
    public StagedOutputs stagedOutputs() {
        return plan.stagedOutputs;
    }

    @Override
    public void onDone() {
        onEnd.run();
        try {
            outcome.onRead(plan, sink);
        } catch (RuntimeException | Error e) {
            // a defect of ours: no block may be lost by it
            LOG.error("RDMA shuffle: blocks could not be handed over; those left are read over TCP", e);
            outcome.onFailed(plan, FallbackReason.READ_FAILED, e.toString());
        } finally {
            sink.release();
        }
    }

    @Override
    public void onFailed(FallbackReason reason, String detail) {
        sink.release();
        onEnd.run();
        outcome.onFailed(plan, reason, detail);
    }
}
