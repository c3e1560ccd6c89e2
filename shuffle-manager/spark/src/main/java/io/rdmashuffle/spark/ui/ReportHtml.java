package io.rdmashuffle.spark.ui;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.util.Utils;
import scala.xml.Utility;

/** The content of the tab. */
final class ReportHtml {

    private final ReportSummary summary;
    private final StringBuilder html = new StringBuilder();

    private ReportHtml(ReportSummary summary) {
        this.summary = summary;
    }

    static String of(ReportSummary summary) {
        return new ReportHtml(summary).page();
    }

    private String page() {
        headline();
        html.append("<h4>Bytes by path</h4>").append(BytesChart.of(summary.moments()));
        fallbacks();
        executors();
        return html.toString();
    }

    private void headline() {
        long rdma = summary.last().sum("rdmaBytes");
        long tcp = summary.last().sum("tcpBytes");
        long with = summary.executors().values().stream()
                .filter(executor -> executor.reason().isEmpty())
                .count();
        html.append("<p>")
                .append(with)
                .append(" of ")
                .append(summary.executors().size())
                .append(" executors have RDMA. Remote blocks: <b>")
                .append(bytes(rdma))
                .append("</b> by RDMA, <b>")
                .append(bytes(tcp))
                .append("</b> over TCP.</p>");
    }

    /** Most blocks first. */
    private void fallbacks() {
        List<FallbackReason> reasons = Arrays.stream(FallbackReason.values())
                .filter(reason -> blocks(reason) > 0)
                .sorted(Comparator.comparingLong(this::blocks).reversed())
                .toList();
        html.append("<h4>Fallbacks</h4>");
        if (reasons.isEmpty()) {
            html.append("<p>None.</p>");
            return;
        }
        table("Reason", "Meaning", "Blocks", "Bytes over TCP");
        reasons.forEach(reason -> row(
                reason.name(),
                reason.meaning(),
                String.valueOf(blocks(reason)),
                bytes(summary.last().sum("fallbackBytes." + reason))));
        html.append("</tbody></table>");
    }

    private void executors() {
        html.append("<h4>Executors</h4>");
        table(
                "Executor",
                "Transport",
                "By RDMA",
                "Over TCP",
                "Registered",
                "Sink pool",
                "Registration time",
                "Peers read / reading",
                "Quarantines",
                "READs p50 / p99");
        summary.executors().forEach(this::executor);
        html.append("</tbody></table>");
    }

    private void executor(String id, ShuffleReport.Executor executor) {
        row(
                id,
                executor.reason().isEmpty() ? "rdma, " + executor.device() : "tcp, " + executor.reason(),
                bytes(executor.figure("rdmaBytes")) + " in " + executor.figure("rdmaBlocks") + " blocks",
                bytes(executor.figure("tcpBytes")) + " in " + executor.figure("tcpBlocks") + " blocks",
                bytes(executor.figure("pinnedBytes")),
                bytes(executor.figure("sinkPoolBytes")),
                executor.figure("registrationNanos") / 1_000_000 + " ms",
                executor.figure("readerQueuePairs") + " / " + executor.figure("ownerQueuePairs"),
                String.valueOf(executor.figure("quarantines")),
                micros(executor.figure("readLatencyMicros.p50")) + " / "
                        + micros(executor.figure("readLatencyMicros.p99")));
    }

    private long blocks(FallbackReason reason) {
        return summary.last().sum("fallbackBlocks." + reason);
    }

    private void table(String... heads) {
        html.append("<table class=\"table table-bordered table-sm table-striped\"><thead><tr>");
        for (String head : heads) {
            html.append("<th>").append(head).append("</th>");
        }
        html.append("</tr></thead><tbody>");
    }

    private void row(String... cells) {
        html.append("<tr>");
        for (String cell : cells) {
            html.append("<td>").append(Utility.escape(cell)).append("</td>");
        }
        html.append("</tr>");
    }

    static String bytes(long bytes) {
        return Utils.bytesToString(bytes);
    }

    private static String micros(long micros) {
        return micros < 10_000 ? micros + " µs" : micros / 1000 + " ms";
    }
}
