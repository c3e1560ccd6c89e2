package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.Snapshot;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(10)
class FigureReportsTest {

    private final Counters counters = new Counters();
    private final List<Snapshot> sent = new ArrayList<>();
    private long now = Long.MAX_VALUE; // a clock may wrap around
    private final FigureReports reports = new FigureReports(counters::snapshot, sent::add, () -> now);

    @Test
    void the_last_task_to_end_sends_what_moved() {
        reports.taskStarted();
        read();
        reports.taskEnded();
        reports.taskStarted();
        read();
        reports.taskEnded();
        assertEquals(List.of(1L, 2L), blocks());
    }

    @Test
    void nothing_is_sent_when_nothing_moved() {
        reports.taskStarted();
        reports.taskEnded();
        assertEquals(List.of(), blocks());
    }

    @Test
    void while_other_tasks_run_figures_are_sent_once_a_second() {
        for (int i = 0; i < 4; i++) {
            reports.taskStarted();
        }
        read();
        reports.taskEnded(); // at once, as none were sent yet
        read();
        reports.taskEnded();
        assertEquals(List.of(1L), blocks());
        now += FigureReports.INTERVAL_NANOS;
        reports.taskEnded();
        assertEquals(List.of(1L, 2L), blocks());
        read();
        reports.taskEnded();
        assertEquals(List.of(1L, 2L, 3L), blocks());
    }

    private void read() {
        counters.add(Counter.RDMA_BLOCKS, 1);
    }

    private List<Long> blocks() {
        return sent.stream().map(figures -> figures.get(Counter.RDMA_BLOCKS)).toList();
    }
}
