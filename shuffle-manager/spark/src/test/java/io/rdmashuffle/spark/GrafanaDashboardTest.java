package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.core.metrics.Snapshot;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.metrics.sink.PrometheusServlet;
import org.junit.jupiter.api.Test;

/** {@code conf/grafana-dashboard.json} asks Prometheus for names that Spark makes of ours. */
class GrafanaDashboardTest {

    private static final Pattern NAME = Pattern.compile("__name__=~\"([^\"]+)\"");
    private static final Pattern END_OF_NAME = Pattern.compile("[{ ]");

    @Test
    void a_driver_prints_every_metric_that_the_dashboard_asks_for() throws IOException {
        Set<String> printed = printedByDriver();
        List<String> expressions = new ObjectMapper()
                .readTree(new File("../../conf/grafana-dashboard.json"))
                .findValuesAsText("expr");
        List<String> asked = expressions.stream()
                .flatMap(expression -> NAME.matcher(expression).results())
                .map(match -> match.group(1))
                .toList();
        assertTrue(asked.size() >= expressions.size(), "each expression names a metric");
        for (String name : asked) {
            // as Prometheus does it, of the whole name
            assertTrue(printed.stream().anyMatch(each -> each.matches(name)), name);
        }
    }

    private static Set<String> printedByDriver() {
        FiguresSource figures = new FiguresSource(Snapshot::zero);
        MetricRegistry driver = new MetricRegistry();
        // as Spark's MetricsSystem names a source's metrics
        driver.register("application_1_2.driver." + figures.sourceName(), figures.metricRegistry());
        Properties settings = new Properties();
        settings.setProperty("path", "/metrics/prometheus");
        return Stream.of(new PrometheusServlet(settings, driver)
                        .getMetricsSnapshot()
                        .split("\n"))
                .map(line -> END_OF_NAME.split(line)[0])
                .collect(Collectors.toSet());
    }
}
