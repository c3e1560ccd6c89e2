package io.rdmashuffle.core.read;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * The walk of one fetch for Java Flight Recorder: when which step was done, counted from when a task asked. Costs nothing while nobody
 * records. Made on any thread, then loop thread only.
 */
@Name("io.rdmashuffle.Fetch")
@Label("Fetch")
@Category("RDMA shuffle")
@Description("One request for blocks of an executor, from when a task asks to the end of its last block")
@StackTrace(false)
final class FetchEvent extends Event {

    @Label("Executor")
    private final String executor;

    @Label("Blocks")
    private final int blocks;

    @Label("Delivered")
    @DataAmount
    private long deliveredBytes;

    @Label("Located After")
    @Timespan(Timespan.NANOSECONDS)
    private long locatedNanos;

    @Label("First Offsets After")
    @Timespan(Timespan.NANOSECONDS)
    private long offsetsNanos;

    @Label("First Block After")
    @Timespan(Timespan.NANOSECONDS)
    private long firstBlockNanos;

    @Label("Last Block After")
    @Timespan(Timespan.NANOSECONDS)
    private long lastBlockNanos;

    private final transient long startNanos = System.nanoTime();

    FetchEvent(String executor, int blocks) {
        this.executor = executor;
        this.blocks = blocks;
        begin();
    }

    /** All map outputs that could be found were found. */
    void located() {
        locatedNanos = sinceStart(locatedNanos);
    }

    /** The offsets of some blocks are known; the first time counts. */
    void haveOffsets() {
        offsetsNanos = sinceStart(offsetsNanos);
    }

    /** A block was read; the first time counts. */
    void delivered(long bytes) {
        deliveredBytes += bytes;
        firstBlockNanos = sinceStart(firstBlockNanos);
    }

    /** No block is open any more. */
    void ended() {
        lastBlockNanos = sinceStart(0);
        commit();
    }

    private long sinceStart(long before) {
        return before == 0 && isEnabled() ? System.nanoTime() - startNanos : before;
    }
}
