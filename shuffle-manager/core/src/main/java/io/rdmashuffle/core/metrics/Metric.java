package io.rdmashuffle.core.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/**
 * One figure as metric systems and people see it. {@link #ALL} is the one list of them, for every sink and for the documentation.
 *
 * @param name in camel case; reasons keep theirs
 * @param meaning one phrase with the unit
 */
public record Metric(String name, String meaning, ToLongFunction<Snapshot> value) {

    public static final List<Metric> ALL = all();

    public long of(Snapshot snapshot) {
        return value.applyAsLong(snapshot);
    }

    private static List<Metric> all() {
        List<Metric> all = new ArrayList<>();
        for (Counter counter : Counter.values()) {
            all.add(new Metric(camelCase(counter), counter.meaning(), snapshot -> snapshot.get(counter)));
        }
        for (Gauge gauge : Gauge.values()) {
            all.add(new Metric(camelCase(gauge), gauge.meaning(), snapshot -> snapshot.get(gauge)));
        }
        for (int percent : new int[] {50, 95, 99}) {
            all.add(new Metric(
                    "readLatencyMicros.p" + percent,
                    "time in which " + percent
                            + " % of the chains of READs completed, in microseconds, rounded up to a power of two",
                    snapshot -> snapshot.readLatency().quantileMicros(percent / 100.0)));
        }
        for (FallbackReason reason : FallbackReason.values()) {
            all.add(new Metric(
                    "fallbackBlocks." + reason,
                    "blocks (on the map side: map outputs) over TCP: " + reason.meaning(),
                    snapshot -> snapshot.blocks(reason)));
        }
        for (FallbackReason reason : FallbackReason.values()) {
            all.add(new Metric(
                    "fallbackBytes." + reason,
                    "bytes over TCP: " + reason.meaning(),
                    snapshot -> snapshot.bytes(reason)));
        }
        return List.copyOf(all);
    }

    private static String camelCase(Enum<?> constant) {
        StringBuilder name = new StringBuilder();
        for (String word : constant.name().toLowerCase(Locale.ROOT).split("_")) {
            name.append(name.isEmpty() ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
        }
        return name.toString();
    }
}
