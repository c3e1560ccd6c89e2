package io.rdmashuffle.core.memory;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.RdmaDevice;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/**
 * Registered buffers for blocks on their way in. Registration costs more than many READs, so buffers are kept by size class
 * (four classes to each doubling, 64 KiB at least) and reused; when the pool is full, free buffers of other classes make room.
 * Any thread.
 */
public final class SinkPool implements AutoCloseable {

    private static final long MIN_BYTES = 64 << 10;

    private final VerbsEndpoint endpoint;
    private final int access;
    private final PinnedBudget budget;
    private final Runnable onRelease;
    private final TreeMap<Long, ArrayDeque<Sink>> free = new TreeMap<>();
    private boolean closed;

    /**
     * @param budget for registered bytes, lent and free together
     * @param onRelease called after a buffer came back, on the thread that released it: whoever waits for one tries again
     */
    public SinkPool(VerbsEndpoint endpoint, PinnedBudget budget, Runnable onRelease) {
        this.endpoint = endpoint;
        this.access = sinkAccess(endpoint.device());
        this.budget = budget;
        this.onRelease = onRelease;
    }

    /**
     * A buffer of at least this size with one reference, or null when none can be had now.
     *
     * @throws VerbsException when the system refuses memory or registration: waiting would not help
     */
    public synchronized Sink tryAllocate(long bytes) throws VerbsException {
        if (closed) {
            return null;
        }
        long size = sizeClass(bytes);
        Sink sink = takeFree(size);
        if (sink == null && makeRoom(size)) {
            sink = create(size);
        }
        if (sink != null) {
            sink.lend();
        }
        return sink;
    }

    /** Whether a buffer of this size can ever be had. */
    public boolean canEverHold(long bytes) {
        return sizeClass(bytes) <= budget.maxBytes();
    }

    /** Registered bytes, lent and free together. */
    public long registeredBytes() {
        return budget.usedBytes();
    }

    /** Registered bytes that are lent. */
    public synchronized long lentBytes() {
        long freeBytes = 0;
        for (Map.Entry<Long, ArrayDeque<Sink>> entry : free.entrySet()) {
            freeBytes += entry.getKey() * entry.getValue().size();
        }
        return budget.usedBytes() - freeBytes;
    }

    /** Deregisters what is free now, and what is lent when it comes back. */
    @Override
    public synchronized void close() {
        closed = true;
        free.values().forEach(sinks -> sinks.forEach(this::destroy));
        free.clear();
    }

    void giveBack(Sink sink) {
        synchronized (this) {
            if (closed) {
                destroy(sink);
            } else {
                free.computeIfAbsent(sink.capacityBytes(), size -> new ArrayDeque<>())
                        .push(sink);
            }
        }
        onRelease.run();
    }

    private Sink takeFree(long size) {
        ArrayDeque<Sink> sinks = free.get(size);
        return sinks == null ? null : sinks.poll();
    }

    private boolean makeRoom(long size) {
        Iterator<ArrayDeque<Sink>> largestFirst = free.descendingMap().values().iterator();
        while (!budget.tryReserve(size)) {
            if (!largestFirst.hasNext()) {
                return false;
            }
            largestFirst.next().forEach(this::destroy);
            largestFirst.remove();
        }
        return true;
    }

    private Sink create(long size) throws VerbsException {
        try {
            return new Sink(this, RegisteredMemory.allocate(endpoint, size, access));
        } catch (VerbsException | RuntimeException e) { // the latter of a closed endpoint
            budget.release(size);
            throw e;
        }
    }

    private void destroy(Sink sink) {
        sink.destroy();
        budget.release(sink.capacityBytes());
    }

    /** iWARP writes the response of a READ like an RDMA_WRITE, so its sink needs that right (RFC 5040); elsewhere it is not given. */
    private static int sinkAccess(RdmaDevice device) {
        return device.transport() == RdmaDevice.Transport.IWARP
                ? Access.LOCAL_WRITE | Access.REMOTE_WRITE
                : Access.LOCAL_WRITE;
    }

    /** Rounds up to a quarter of the power of two below. */
    static long sizeClass(long bytes) {
        if (bytes <= MIN_BYTES) {
            return MIN_BYTES;
        }
        long step = Math.max(MIN_BYTES / 4, Long.highestOneBit(bytes - 1) / 4);
        return (bytes + step - 1) / step * step;
    }
}
