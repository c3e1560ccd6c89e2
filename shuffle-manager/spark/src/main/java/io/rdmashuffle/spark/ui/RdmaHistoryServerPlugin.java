package io.rdmashuffle.spark.ui;

import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Found by the history server (Spark 4.0 and later) when our jar is on its class path: shows the tab from the event log. */
public final class RdmaHistoryServerPlugin implements AppHistoryServerPlugin {

    @Override
    public Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
        return CollectionConverters.asScala(List.<SparkListener>of(new ReportStore(store)))
                .toSeq();
    }

    /** Adds the tab to applications that have something to show. */
    @Override
    public void setupUI(SparkUI ui) {
        if (UiCompat.supportsPages() && !ReportStore.read(ui.store().store()).isEmpty()) {
            RdmaShuffleTab.attach(ui, List::of);
        }
    }
}
