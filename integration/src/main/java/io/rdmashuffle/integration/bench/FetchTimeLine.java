package io.rdmashuffle.integration.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** One fetch out of flight recordings, step by step. */
final class FetchTimeLine {

    private static final String EVENT = "io.rdmashuffle.Fetch";

    private FetchTimeLine() {}

    /** Microseconds from the start to the end of each step, of the fetch whose time is the middle of all; nothing when none was recorded. */
    static Map<String, Object> ofMedian(List<Path> recordings) throws IOException {
        List<RecordedEvent> fetches = new ArrayList<>();
        for (Path recording : recordings) {
            RecordingFile.readAllEvents(recording).stream()
                    .filter(event -> event.getEventType().getName().equals(EVENT))
                    .forEach(fetches::add);
        }
        if (fetches.isEmpty()) {
            return Map.of();
        }
        fetches.sort(Comparator.comparingLong(fetch -> micros(fetch, "lastBlockNanos")));
        RecordedEvent fetch = fetches.get(fetches.size() / 2);
        return new TreeMap<>(Map.of(
                "blocks", fetch.getInt("blocks"),
                "bytes", fetch.getLong("deliveredBytes"),
                "located_us", micros(fetch, "locatedNanos"),
                "offsets_us", micros(fetch, "offsetsNanos"),
                "first_block_us", micros(fetch, "firstBlockNanos"),
                "last_block_us", micros(fetch, "lastBlockNanos")));
    }

    private static long micros(RecordedEvent fetch, String step) {
        return fetch.getDuration(step).toNanos() / 1000;
    }
}
