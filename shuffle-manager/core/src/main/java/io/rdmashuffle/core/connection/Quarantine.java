package io.rdmashuffle.core.connection;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Peers that failed, and how long each is left alone: twice as long after each failure in a row, up to a maximum. When its time is
 * over a peer is tried again by whoever wants to read from it. Not thread-safe.
 *
 * @param <P> what tells peers apart
 */
public final class Quarantine<P> {

    private record Term(long endNanos, long lengthNanos) {}

    private final long firstNanos;
    private final long maxNanos;
    private final LongSupplier nanoClock;
    private final Map<P, Term> terms = new HashMap<>();

    /** @param nanoClock as {@link System#nanoTime} */
    public Quarantine(long firstMillis, long maxMillis, LongSupplier nanoClock) {
        this.firstNanos = TimeUnit.MILLISECONDS.toNanos(firstMillis);
        this.maxNanos = Math.max(firstNanos, TimeUnit.MILLISECONDS.toNanos(maxMillis));
        this.nanoClock = nanoClock;
    }

    /** Whether the peer is to be left alone now. */
    public boolean holds(P peer) {
        Term term = terms.get(peer);
        return term != null && term.endNanos - nanoClock.getAsLong() > 0;
    }

    /** The peer failed once more. */
    public void failed(P peer) {
        long now = nanoClock.getAsLong();
        // who did not fail for that long starts anew; it also keeps peers that are gone from piling up
        terms.values().removeIf(term -> now - term.endNanos > maxNanos);
        Term last = terms.get(peer);
        long length = last == null ? firstNanos : Math.min(maxNanos, 2 * last.lengthNanos);
        terms.put(peer, new Term(now + length, length));
    }

    /** The peer served READs: its earlier failures do not count any more. */
    public void worked(P peer) {
        terms.remove(peer);
    }
}
