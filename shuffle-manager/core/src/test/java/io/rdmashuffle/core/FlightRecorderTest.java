package io.rdmashuffle.core;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;

class FlightRecorderTest extends NodeTest {

    private static final String EVENT = "io.rdmashuffle.Fetch";

    @Test
    void a_fetch_is_recorded_with_its_steps_in_order() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 100, 50);
        List<RecordedEvent> fetches;
        try (Recording recording = new Recording()) {
            recording.enable(EVENT);
            recording.start();
            FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 99, 11}, 0, 0, 1)
                    .awaitAll();
            recording.stop();
            fetches = fetchesOf(recording);
        }
        assertEquals(1, fetches.size());
        RecordedEvent fetch = fetches.get(0);
        assertEquals(OWNER, fetch.getString("executor"));
        assertEquals(3, fetch.getInt("blocks"));
        assertEquals(150, fetch.getLong("deliveredBytes"));
        long[] steps = Stream.of("locatedNanos", "offsetsNanos", "firstBlockNanos", "lastBlockNanos")
                .mapToLong(step -> fetch.getDuration(step).toNanos())
                .toArray();
        assertTrue(steps[0] > 0);
        assertArrayEquals(Arrays.stream(steps).sorted().toArray(), steps);
    }

    private List<RecordedEvent> fetchesOf(Recording recording) throws IOException {
        Path file = folder.resolve("recording.jfr");
        recording.dump(file);
        return RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals(EVENT))
                .toList();
    }
}
