package io.rdmashuffle.spark.ui;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.util.kvstore.KVIndex;
import org.apache.spark.util.kvstore.KVStore;
import org.apache.spark.util.kvstore.KVStoreIterator;

/** Keeps the reports of an application where Spark keeps what its UI shows. On the listener bus' thread. */
public final class ReportStore extends SparkListener {

    /** More would not fit on a chart. */
    private static final int MOST_REPORTS = 1000;

    private final ElementTrackingStore store;
    private long sequence;

    public ReportStore(ElementTrackingStore store) {
        this.store = store;
    }

    /** As the store keeps it: in memory, or as JSON on the history server's disk. */
    public record Stored(long sequence, ShuffleReport report) {
        @KVIndex
        @Override
        public long sequence() {
            return sequence;
        }
    }

    @Override
    public void onOtherEvent(SparkListenerEvent event) {
        if (event instanceof ShuffleReport report) {
            store.write(new Stored(sequence, report));
            forget(sequence++ - MOST_REPORTS);
        }
    }

    /** The last reports, oldest first. Any thread. */
    static List<ShuffleReport> read(KVStore store) {
        List<ShuffleReport> reports = new ArrayList<>();
        try (KVStoreIterator<Stored> stored = store.view(Stored.class).closeableIterator()) {
            stored.forEachRemaining(each -> reports.add(each.report));
        } catch (Exception e) {
            throw new IllegalStateException("Spark's store of UI data cannot be read", e);
        }
        return reports;
    }

    private void forget(long old) {
        if (old >= 0) {
            store.delete(Stored.class, old);
        }
    }
}
