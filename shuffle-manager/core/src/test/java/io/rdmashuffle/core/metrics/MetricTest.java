package io.rdmashuffle.core.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class MetricTest {

    @Test
    void the_documentation_lists_every_metric_with_its_meaning() throws IOException {
        String expected = Metric.ALL.stream()
                .map(metric -> "| `" + metric.name() + "` | " + metric.meaning() + " |")
                .collect(Collectors.joining("\n"));
        String documented = Files.readAllLines(Path.of("../../docs/metrics.md")).stream()
                .filter(line -> line.startsWith("| `"))
                .collect(Collectors.joining("\n"));
        assertEquals(expected, documented);
    }

    @Test
    void names_are_unique() {
        assertEquals(
                Metric.ALL.size(),
                Metric.ALL.stream().map(Metric::name).distinct().count());
    }
}
