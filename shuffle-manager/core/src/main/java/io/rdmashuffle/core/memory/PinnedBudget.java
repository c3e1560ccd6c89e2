package io.rdmashuffle.core.memory;

import java.util.concurrent.atomic.AtomicLong;

/** A cap on registered bytes, or a share of one. Any thread. */
public final class PinnedBudget {

    private final PinnedBudget whole; // null for what is no share
    private final long maxBytes;
    private final AtomicLong usedBytes = new AtomicLong();

    public PinnedBudget(long maxBytes) {
        this(null, maxBytes);
    }

    private PinnedBudget(PinnedBudget whole, long maxBytes) {
        this.whole = whole;
        this.maxBytes = maxBytes;
    }

    /** A part with a cap of its own, which is never above this one's; what it uses counts here too. */
    public PinnedBudget share(long maxBytes) {
        return new PinnedBudget(this, Math.min(maxBytes, this.maxBytes));
    }

    /** Takes the bytes, or nothing and answers false. */
    public boolean tryReserve(long bytes) {
        if (!tryReserveHere(bytes)) {
            return false;
        }
        if (whole == null || whole.tryReserve(bytes)) {
            return true;
        }
        usedBytes.addAndGet(-bytes);
        return false;
    }

    /** Gives back what {@link #tryReserve} took. */
    public void release(long bytes) {
        usedBytes.addAndGet(-bytes);
        if (whole != null) {
            whole.release(bytes);
        }
    }

    public long usedBytes() {
        return usedBytes.get();
    }

    public long maxBytes() {
        return maxBytes;
    }

    private boolean tryReserveHere(long bytes) {
        long used = usedBytes.get();
        while (bytes <= maxBytes - used) {
            if (usedBytes.compareAndSet(used, used + bytes)) {
                return true;
            }
            used = usedBytes.get();
        }
        return false;
    }
}
