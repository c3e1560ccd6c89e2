package io.rdmashuffle.integration.report;

import com.samskivert.mustache.Mustache;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** A page in one file, without scripts: what was found, plots and tables, what was run where. Not thread-safe. */
public final class Page {

    /** The rows of a table all have the columns of the first, in its order. */
    private record Section(String heading, String text, String plot, List<String> columns, List<List<String>> rows) {}

    private record Verdict(boolean good, String text) {}

    private record Fact(String name, String value) {}

    private final String title;
    private final String lead;
    private final List<Verdict> verdicts = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private final List<Section> sections = new ArrayList<>();
    private final List<Fact> facts = new ArrayList<>();
    private final Map<String, String> images = new LinkedHashMap<>();

    /** @param lead what was done, in a few sentences */
    public Page(String title, String lead) {
        this.title = title;
        this.lead = lead;
    }

    public Page verdict(boolean good, String text) {
        verdicts.add(new Verdict(good, text));
        return this;
    }

    public Page warning(String text) {
        warnings.add(text);
        return this;
    }

    /** @param charts one below the other */
    public Page plot(String heading, String text, Chart... charts) {
        List<String> plots = Stream.of(charts).map(Chart::svg).toList();
        for (int i = 0; i < plots.size(); i++) {
            images.put(fileName(heading) + (i == 0 ? "" : "-" + (i + 1)) + ".svg", plots.get(i));
        }
        String plot = String.join("\n", plots);
        sections.add(new Section(heading, text, plot, List.of(), List.of()));
        return this;
    }

    /** @param rows cells by column, of which all have the same, in the same order */
    public Page table(String heading, String text, List<Map<String, String>> rows) {
        List<String> columns =
                rows.isEmpty() ? List.of() : List.copyOf(rows.get(0).keySet());
        List<List<String>> cells =
                rows.stream().map(row -> List.copyOf(row.values())).toList();
        sections.add(new Section(heading, text, "", columns, cells));
        return this;
    }

    /** Something about where and how it was run. */
    public Page fact(String name, String value) {
        facts.add(new Fact(name, value));
        return this;
    }

    /** Each plot as a file of its own, named after its heading, for other documents to show. */
    public void writePlots(Path folder) throws IOException {
        Files.createDirectories(folder);
        for (Map.Entry<String, String> image : images.entrySet()) {
            Files.writeString(folder.resolve(image.getKey()), image.getValue());
        }
    }

    private static String fileName(String heading) {
        return heading.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
    }

    public void write(Path html) throws IOException {
        try (InputStream template = Page.class.getResourceAsStream("page.html");
                Reader reader = new InputStreamReader(template, StandardCharsets.UTF_8)) {
            String page = Mustache.compiler()
                    .compile(reader)
                    .execute(Map.of(
                            "title", title,
                            "lead", lead,
                            "verdicts", verdicts,
                            "warnings", warnings,
                            "sections", sections,
                            "facts", facts));
            Files.writeString(html, page);
        }
    }
}
