package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.Snapshot;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Sends an executor's figures to the driver as its tasks end, so that those of an application are exact when it ends. While other tasks
 * run only once a second: the driver of a large cluster would do little else. Any thread.
 */
final class FigureReports {

    static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Supplier<Snapshot> figures;
    private final Consumer<Snapshot> driver;
    private final LongSupplier nanoTime;
    private Snapshot sent = Snapshot.zero();
    private long sentAtNanos;
    private int tasks;

    /**
     * @param driver where figures are sent; must not wait
     * @param nanoTime as {@link System#nanoTime()}
     */
    FigureReports(Supplier<Snapshot> figures, Consumer<Snapshot> driver, LongSupplier nanoTime) {
        this.figures = figures;
        this.driver = driver;
        this.nanoTime = nanoTime;
        this.sentAtNanos = nanoTime.getAsLong() - INTERVAL_NANOS;
    }

    /** A task begins to shuffle; {@link #taskEnded} follows. */
    synchronized void taskStarted() {
        tasks++;
    }

    /** Called before the engine tells the driver that the task ended. */
    synchronized void taskEnded() {
        tasks--;
        if (tasks > 0 && nanoTime.getAsLong() - sentAtNanos < INTERVAL_NANOS) {
            return;
        }
        Snapshot now = figures.get();
        if (!now.equals(sent)) {
            sent = now;
            sentAtNanos = nanoTime.getAsLong();
            driver.accept(now);
        }
    }
}
