package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class QuarantineTest {

    private static final long PEER = 7;

    private long nowNanos = Long.MAX_VALUE - 5; // nanoTime may overflow
    private final Quarantine<Long> quarantine = new Quarantine<>(1000, 10_000, () -> nowNanos);

    private void pass(long millis) {
        nowNanos += TimeUnit.MILLISECONDS.toNanos(millis);
    }

    /** Lets the quarantine end and answers how long it was. */
    private long awaitEnd() {
        for (long millis = 0; ; millis += 100) {
            if (!quarantine.holds(PEER)) {
                return millis;
            }
            pass(100);
        }
    }

    @Test
    void who_never_failed_is_free() {
        assertFalse(quarantine.holds(PEER));
    }

    @Test
    void each_failure_in_a_row_doubles_the_time_up_to_the_maximum() {
        for (long expected : new long[] {1000, 2000, 4000, 8000, 10_000, 10_000}) {
            quarantine.failed(PEER);
            assertEquals(expected, awaitEnd());
        }
        assertFalse(quarantine.holds(PEER + 1), "others are not concerned");
    }

    @Test
    void who_worked_in_between_starts_anew() {
        quarantine.failed(PEER);
        quarantine.failed(PEER);
        quarantine.worked(PEER);
        assertFalse(quarantine.holds(PEER));
        quarantine.failed(PEER);
        assertEquals(1000, awaitEnd());
    }

    @Test
    void who_did_not_fail_for_long_starts_anew() {
        quarantine.failed(PEER);
        awaitEnd();
        pass(10_001);
        quarantine.failed(PEER);
        assertEquals(1000, awaitEnd());
    }

    @Test
    void no_time_means_that_a_peer_is_tried_again_at_once() {
        Quarantine<Long> none = new Quarantine<>(0, 10_000, () -> nowNanos);
        none.failed(PEER);
        none.failed(PEER);
        assertFalse(none.holds(PEER));
    }

    @Test
    void a_first_time_above_the_maximum_is_kept() {
        Quarantine<Long> longFirst = new Quarantine<>(5000, 1000, () -> nowNanos);
        longFirst.failed(PEER);
        pass(4999);
        assertTrue(longFirst.holds(PEER));
        pass(1);
        assertFalse(longFirst.holds(PEER));
    }
}
