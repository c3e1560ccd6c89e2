package io.rdmashuffle.integration;

import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.VectorGraphicsEncoder.VectorGraphicsFormat;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The plots of the report, as SVG to stand in a page. */
final class Charts {
    /** Told apart by readers with any colour vision. */
    private static final Color SORT = new Color(0x999999);

    private static final Color RDMA = new Color(0x0072B2);
    private static final Color TCP = new Color(0xE69F00);
    private static final double MB = 1e6;

    private final List<DemoResult.Query> queries;

    Charts(List<DemoResult.Query> queries) {
        this.queries = queries;
    }

    String seconds() throws IOException {
        CategoryChart chart = chart("seconds");
        bars(chart, "sort shuffle", SORT, DemoResult.Query::sortS);
        bars(chart, "rdma-shuffle", RDMA, DemoResult.Query::rdmaS);
        return svg(chart);
    }

    String traffic() throws IOException {
        CategoryChart chart = chart("MB");
        chart.getStyler().setStacked(true);
        bars(chart, "by RDMA", RDMA, query -> query.bytes().rdma() / MB);
        bars(chart, "over TCP", TCP, query -> query.bytes().tcp() / MB);
        return svg(chart);
    }

    private CategoryChart chart(String unit) {
        CategoryChart chart = new CategoryChartBuilder()
                .width(Math.max(720, 60 * queries.size()))
                .height(300)
                .yAxisTitle(unit)
                .build();
        chart.getStyler()
                .setLegendPosition(LegendPosition.OutsideS)
                .setLegendLayout(LegendLayout.Horizontal)
                .setLegendBorderColor(Color.WHITE)
                .setChartBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false);
        return chart;
    }

    private void bars(CategoryChart chart, String name, Color colour, ToDoubleFunction<DemoResult.Query> height) {
        List<String> names = queries.stream().map(DemoResult.Query::name).toList();
        List<Double> heights = queries.stream().mapToDouble(height).boxed().toList();
        chart.addSeries(name, names, heights).setFillColor(colour);
    }

    private static String svg(CategoryChart chart) throws IOException {
        var out = new ByteArrayOutputStream();
        VectorGraphicsEncoder.saveVectorGraphic(chart, out, VectorGraphicsFormat.SVG);
        String document = out.toString(StandardCharsets.UTF_8);
        return document.substring(document.indexOf("<svg"));
    }
}
