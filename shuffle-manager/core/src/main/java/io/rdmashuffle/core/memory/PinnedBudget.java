package io.rdmashuffle.core.memory;

import java.util.concurrent.atomic.AtomicLong;

/** A cap on registered bytes. Any thread. */
public final class PinnedBudget {

    private final long maxBytes;
    private final AtomicLong usedBytes = new AtomicLong();

    public PinnedBudget(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Takes the bytes, or nothing and answers false. */
    public boolean tryReserve(long bytes) {
        long used = usedBytes.get();
        while (bytes <= maxBytes - used) {
            if (usedBytes.compareAndSet(used, used + bytes)) {
                return true;
            }
            used = usedBytes.get();
        }
        return false;
    }

    /** Gives back what {@link #tryReserve} took. */
    public void release(long bytes) {
        usedBytes.addAndGet(-bytes);
    }

    public long usedBytes() {
        return usedBytes.get();
    }

    public long maxBytes() {
        return maxBytes;
    }
}
