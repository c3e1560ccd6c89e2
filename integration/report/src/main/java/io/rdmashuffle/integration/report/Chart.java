package io.rdmashuffle.integration.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.CategorySeries.CategorySeriesRenderStyle;
import org.knowm.xchart.VectorGraphicsEncoder;
import org.knowm.xchart.VectorGraphicsEncoder.VectorGraphicsFormat;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A plot of one or more series over the same labels, as SVG to stand in a page. Not thread-safe. */
public final class Chart {

    /** What a series stands for. The colours are told apart by readers with any colour vision. */
    public enum Role {
        BASELINE(0x999999),
        OURS(0x0072B2),
        OURS_OVER_TCP(0xE69F00);

        private final Color colour;

        Role(int rgb) {
            colour = new Color(rgb);
        }
    }

    private static final int MOST_CHARACTERS = 70; // of labels beside each other

    private final CategoryChart chart;
    private final List<String> labels;

    /** @param unit of the values; at least one label */
    public Chart(String unit, List<String> labels) {
        this.labels = labels;
        chart = new CategoryChartBuilder()
                .width(Math.max(720, 60 * labels.size()))
                .height(300)
                .yAxisTitle(unit)
                .build();
        chart.getStyler()
                .setLegendPosition(LegendPosition.OutsideS)
                .setLegendLayout(LegendLayout.Horizontal)
                .setLegendBorderColor(Color.WHITE)
                .setChartBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false);
        chart.getStyler().setPlotGridVerticalLinesVisible(false);
        if (labels.stream().mapToInt(String::length).sum() > MOST_CHARACTERS) {
            chart.getStyler().setXAxisLabelRotation(45);
        }
        // a dashed line is drawn as a path of hundreds of points
        chart.getStyler().setPlotGridLinesStroke(new BasicStroke(0.5f));
    }

    /**
     * Steps that follow each other, as a stair: each label is a step, which begins where the one before it ends.
     *
     * @param ends of the steps, rising
     */
    public Chart stair(String name, Role role, List<Double> ends) {
        List<Double> starts = new ArrayList<>(List.of(0.0));
        starts.addAll(ends.subList(0, ends.size() - 1));
        chart.addSeries("before", labels, starts).setFillColor(Color.WHITE).setShowInLegend(false);
        List<Double> lengths = IntStream.range(0, ends.size())
                .mapToObj(step -> ends.get(step) - starts.get(step))
                .toList();
        return stacked().bars(name, role, lengths);
    }

    /** Series above each other, not beside. */
    public Chart stacked() {
        chart.getStyler().setStacked(true);
        return this;
    }

    /** One value per label. */
    public Chart bars(String name, Role role, List<Double> values) {
        chart.addSeries(name, labels, values).setFillColor(role.colour);
        return this;
    }

    /** One value per label, joined by a line; a chart of lines has no bars. */
    public Chart line(String name, Role role, List<Double> values) {
        CategorySeries series = chart.addSeries(name, labels, values);
        series.setChartCategorySeriesRenderStyle(CategorySeriesRenderStyle.Line);
        series.setLineColor(role.colour).setLineWidth(2);
        series.setMarker(SeriesMarkers.CIRCLE).setMarkerColor(role.colour);
        chart.getStyler().setOverlapped(true);
        return this;
    }

    /** A level to compare the one series of bars with. */
    public Chart level(String name, double value) {
        CategorySeries series = chart.addSeries(name, labels, Collections.nCopies(labels.size(), value));
        series.setChartCategorySeriesRenderStyle(CategorySeriesRenderStyle.Line);
        series.setLineColor(Color.BLACK).setLineStyle(new BasicStroke(1));
        series.setMarker(SeriesMarkers.NONE);
        chart.getStyler().setOverlapped(true);
        return this;
    }

    /** The scale goes from 0 to this. */
    Chart upTo(double greatest) {
        chart.getStyler().setYAxisMin(0.0).setYAxisMax(greatest);
        return this;
    }

    String svg() {
        var out = new ByteArrayOutputStream();
        try {
            VectorGraphicsEncoder.saveVectorGraphic(chart, out, VectorGraphicsFormat.SVG);
        } catch (IOException e) {
            throw new IllegalStateException("writing to memory", e);
        }
        String document = out.toString(StandardCharsets.UTF_8);
        return document.substring(document.indexOf("<svg"));
    }
}
