package io.rdmashuffle.spark;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import io.rdmashuffle.core.metrics.Metric;
import io.rdmashuffle.core.metrics.Snapshot;
import java.util.function.Supplier;
import org.apache.spark.metrics.source.Source;

/** All figures in Spark's metric system, under {@code rdmaShuffle}: an executor's own, on the driver those of all. Any thread. */
final class FiguresSource implements Source {

    private final MetricRegistry registry = new MetricRegistry();

    FiguresSource(Supplier<Snapshot> figures) {
        Metric.ALL.forEach(metric -> registry.register(metric.name(), (Gauge<Long>) () -> metric.of(figures.get())));
    }

    @Override
    public String sourceName() {
        return "rdmaShuffle";
    }

    @Override
    public MetricRegistry metricRegistry() {
        return registry;
    }
}
