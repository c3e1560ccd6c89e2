package io.rdmashuffle.core.read;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * Bounds the bytes that are on their way, from each owner and from all together, whatever number of tasks asks for them: many
 * answers at once into one port (incast) are what a lossy network drops. Who does not fit waits for its turn: the owners in turn, the
 * plans of each in order. What alone is more than a bound goes alone. Loop thread only.
 */
final class InFlight {

    private record Waiting(long bytes, Runnable start) {}

    private static final class Lane {
        private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
        private long bytes;
    }

    private final long maxBytes;
    private final long maxBytesPerOwner;
    private final Map<Long, Lane> lanes = new HashMap<>();
    /** Lanes in which somebody waits, the next one first. */
    private final ArrayDeque<Lane> turns = new ArrayDeque<>();

    private long bytes;
    private boolean admitting;

    InFlight(long maxBytes, long maxBytesPerOwner) {
        this.maxBytes = maxBytes;
        this.maxBytesPerOwner = maxBytesPerOwner;
    }

    /** Runs {@code start} when the bytes may be on their way, perhaps now. Each start is answered by one {@link #leave}. */
    void enter(long owner, long bytes, Runnable start) {
        Lane lane = lanes.computeIfAbsent(owner, id -> new Lane());
        if (lane.waiting.isEmpty()) {
            turns.add(lane);
        }
        lane.waiting.add(new Waiting(bytes, start));
        admit();
    }

    /** The bytes have come, or never will. */
    void leave(long owner, long bytes) {
        Lane lane = lanes.get(owner);
        lane.bytes -= bytes;
        this.bytes -= bytes;
        if (lane.bytes == 0 && lane.waiting.isEmpty()) {
            lanes.remove(owner);
        }
        admit();
    }

    /** Bytes on their way. */
    long bytes() {
        return bytes;
    }

    /** Goes round until nobody fits. Who starts may leave at once: the loop here sees to those who come next then. */
    private void admit() {
        if (admitting) {
            return;
        }
        admitting = true;
        try {
            int passedOver = 0;
            while (passedOver < turns.size()) {
                Lane lane = turns.peek();
                Waiting next = lane.waiting.peek();
                if (!fits(bytes, next.bytes, maxBytes)) {
                    return; // nobody overtakes the one whose turn it is, else a large plan would wait for ever
                }
                turns.poll();
                if (fits(lane.bytes, next.bytes, maxBytesPerOwner)) {
                    passedOver = 0;
                    lane.waiting.poll();
                    lane.bytes += next.bytes;
                    bytes += next.bytes;
                } else {
                    passedOver++;
                    next = null;
                }
                if (!lane.waiting.isEmpty()) {
                    turns.add(lane);
                }
                if (next != null) {
                    next.start.run();
                }
            }
        } finally {
            admitting = false;
        }
    }

    private static boolean fits(long present, long more, long max) {
        return present == 0 || present + more <= max;
    }
}
