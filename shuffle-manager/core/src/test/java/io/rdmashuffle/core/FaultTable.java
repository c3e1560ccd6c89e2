package io.rdmashuffle.core;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * The fault table of docs/failure-model.md. A row is a step of a walk, a way in which it fails, and what must come of it; it is
 * acted out by a script of softverbs' or names the test that does.
 *
 * @param script softverbs script; empty when another test acts the row out
 * @param outcomes the fallback reasons that may be told, or {@code none} when nothing but speed is lost
 * @param test {@code this} for a scripted row, else {@code Class.member} of a test
 */
record FaultTable(
        String step, String failure, String script, String scope, String action, List<String> outcomes, String test) {

    private static final String HEADER = "| step | failure | script | scope | action | outcome | test |";

    private static final String EVENTS = "event=";

    /** The project's root, wherever below it the tests run. */
    static final Path ROOT = root();

    static List<FaultTable> rows() throws IOException {
        return Files.readString(ROOT.resolve("docs/failure-model.md"))
                .lines()
                .dropWhile(line -> !line.equals(HEADER))
                .skip(2)
                .takeWhile(line -> line.startsWith("|"))
                .map(FaultTable::parse)
                .toList();
    }

    /** One, or one for each event where it names several ({@code event=A,B}). */
    Stream<String> scripts() {
        int events = script.indexOf(EVENTS) + EVENTS.length();
        return script.contains(EVENTS)
                ? Arrays.stream(script.substring(events).split(",")).map(event -> script.substring(0, events) + event)
                : Stream.of(script);
    }

    boolean isScripted() {
        return !script.isEmpty();
    }

    boolean mayEnd(Object outcome) {
        return outcomes.contains(outcome.toString());
    }

    private static FaultTable parse(String line) {
        String[] cells = Arrays.stream(line.split("\\|", -1)).map(String::trim).toArray(String[]::new);
        if (cells.length != 9) {
            throw new IllegalArgumentException("a row of " + (cells.length - 2) + " cells: " + line);
        }
        return new FaultTable(
                cells[1],
                cells[2],
                cells[3].replace("`", "").replace("–", ""),
                cells[4],
                cells[5],
                List.of(cells[6].split(" or ")),
                cells[7].replace("`", ""));
    }

    private static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("docs/failure-model.md"))) {
            folder = folder.getParent();
        }
        return folder;
    }
}
