package io.rdmashuffle.spark.ui;

import java.util.List;
import java.util.Locale;

/** Bytes by path as they grew, one line each, as SVG. */
final class BytesChart {

    private record Path(String metric, String label, String colour) {}

    /** Told apart by readers with any colour vision. */
    private static final List<Path> PATHS = List.of(
            new Path("directBytes", "DIRECT", "#0072b2"),
            new Path("odpBytes", "ODP", "#56b4e9"),
            new Path("stagedBytes", "STAGED", "#009e73"),
            new Path("tcpBytes", "TCP", "#e69f00"));

    private static final int WIDTH = 760;
    private static final int HEIGHT = 180;
    private static final int LEFT = 80;
    private static final int BOTTOM = 24;

    private final List<ReportSummary.Moment> moments;
    private final long startMillis;
    private final long endMillis;
    private final long most;

    private BytesChart(List<ReportSummary.Moment> moments) {
        this.moments = moments;
        this.startMillis = moments.get(0).timeMillis();
        this.endMillis =
                Math.max(startMillis + 1, moments.get(moments.size() - 1).timeMillis());
        this.most = Math.max(
                1,
                PATHS.stream()
                        .mapToLong(path -> moments.get(moments.size() - 1).sum(path.metric))
                        .max()
                        .orElse(1));
    }

    static String of(List<ReportSummary.Moment> moments) {
        return moments.isEmpty() ? "<p>Nothing was shuffled yet.</p>" : new BytesChart(moments).svg();
    }

    private String svg() {
        StringBuilder svg = new StringBuilder();
        svg.append(String.format(
                "<svg class=\"rdma-bytes\" width=\"%d\" height=\"%d\" role=\"img\" font-size=\"12\" fill=\"currentColor\">",
                WIDTH + LEFT + 80, HEIGHT + BOTTOM + 10));
        axes(svg);
        PATHS.stream()
                .filter(path -> moments.get(moments.size() - 1).sum(path.metric) > 0)
                .forEach(path -> line(svg, path));
        return svg.append("</svg>").toString();
    }

    private void axes(StringBuilder svg) {
        svg.append(String.format(
                "<path d=\"M%d 10V%dH%d\" stroke=\"currentColor\" fill=\"none\"/>", LEFT, HEIGHT + 10, LEFT + WIDTH));
        svg.append(String.format(
                "<text x=\"%d\" y=\"20\" text-anchor=\"end\">%s</text>", LEFT - 6, ReportHtml.bytes(most)));
        svg.append(String.format("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">0</text>", LEFT - 6, HEIGHT + 10));
        svg.append(String.format(
                Locale.ROOT,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f s after the first shuffle</text>",
                LEFT + WIDTH,
                HEIGHT + BOTTOM + 4,
                (endMillis - startMillis) / 1000.0));
    }

    private void line(StringBuilder svg, Path path) {
        svg.append("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"")
                .append(path.colour)
                .append("\" points=\"");
        moments.forEach(moment ->
                svg.append(x(moment)).append(',').append(y(moment, path)).append(' '));
        ReportSummary.Moment last = moments.get(moments.size() - 1);
        svg.append(String.format(
                "\"/><text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>",
                LEFT + WIDTH + 6, y(last, path) + 4, path.colour, path.label));
    }

    private long x(ReportSummary.Moment moment) {
        return LEFT + WIDTH * (moment.timeMillis() - startMillis) / (endMillis - startMillis);
    }

    private long y(ReportSummary.Moment moment, Path path) {
        return 10 + HEIGHT - Math.round((double) HEIGHT * moment.sum(path.metric) / most);
    }
}
