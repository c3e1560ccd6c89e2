package io.rdmashuffle.verbs;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Registered (pinned) memory of an endpoint. It owns the registration, not the memory, which must stay mapped until
 * this is closed. Any thread.
 */
public final class MemoryRegion implements AutoCloseable {
    private final VerbsEndpoint endpoint;
    private final long region;
    private final long address;
    private final long lengthBytes;
    private final int lkey;
    private final int rkey;
    private final AtomicBoolean closed = new AtomicBoolean();

    MemoryRegion(VerbsEndpoint endpoint, long region, long address, long lengthBytes) {
        this.endpoint = endpoint;
        this.region = region;
        this.address = address;
        this.lengthBytes = lengthBytes;
        this.lkey = endpoint.useInt(() -> Native.lkey(region));
        this.rkey = endpoint.useInt(() -> Native.rkey(region));
    }

    /** First byte, as this process and its peers address it. */
    public long address() {
        return address;
    }

    /** Registered bytes, counted against RLIMIT_MEMLOCK. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Key for local use in a READ. */
    public int lkey() {
        return lkey;
    }

    /** Key for peers. Whoever has it and a connection can use the memory as far as its rights go: keep it secret. */
    public int rkey() {
        return rkey;
    }

    /**
     * Deregisters; the second call does nothing. READs under way from or into the region fail and with them their
     * connections.
     */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            endpoint.deregister(region);
        }
    }

    /** Without the keys, so that they reach no log. */
    @Override
    public String toString() {
        return "MemoryRegion[address=0x" + Long.toHexString(address) + ", lengthBytes=" + lengthBytes + "]";
    }
}
