package io.rdmashuffle.verbs;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/**
 * One device as one process uses it: a protection domain, a completion queue with its channel, a connection-manager
 * channel with a listener, and an eventfd to wake whoever polls.
 *
 * <p>{@link #poll}, {@link #resolve}, {@link #incoming} and the connections belong to one thread, the loop thread;
 * {@link #register}, {@link #wake} and {@link #close} may be called from any. Native memory is guarded: users hold the read
 * lock, closing takes the write lock, and after it every call fails with {@link IllegalStateException}.
 */
public final class VerbsEndpoint implements AutoCloseable {
    private final long endpoint;
    private final RdmaDevice device;
    private final InetSocketAddress listenAddress;
    private final ReentrantReadWriteLock lifecycle = new ReentrantReadWriteLock();
    private volatile boolean closing; // set before the wake-up of close, so that no later poll misses it
    private boolean closed; // under lifecycle

    private VerbsEndpoint(long endpoint, RdmaDevice device, InetSocketAddress listenAddress) {
        this.endpoint = endpoint;
        this.device = device;
        this.listenAddress = listenAddress;
    }

    /**
     * Opens the device behind a local address and listens there on a port that the system chooses.
     *
     * @param backlog connection requests that may wait, at least 1
     * @param cqEntries entries of the completion queue, 1 to {@link RdmaDevice#maxCqe}: at least the sum of the send
     *     queue depths of all connections, else it may overrun
     * @throws VerbsException with the step "no RDMA device at this address" when the address belongs to none
     */
    public static VerbsEndpoint open(InetAddress listenAddress, int backlog, int cqEntries) throws VerbsException {
        if (!Rdma.isAvailable()) {
            throw new VerbsException(Rdma.unavailabilityCause(), VerbsException.ENODEV);
        }
        long endpoint =
                checked(Native.endpointOpen(listenAddress.getAddress(), scopeId(listenAddress), backlog, cqEntries));
        try {
            DeviceInfo info = new DeviceInfo();
            checked(Native.endpointDevice(endpoint, info.buffer()));
            int port = Native.endpointPort(endpoint);
            return new VerbsEndpoint(endpoint, info.toDevice(), new InetSocketAddress(listenAddress, port));
        } catch (VerbsException | RuntimeException e) {
            Native.endpointClose(endpoint);
            throw e;
        }
    }

    /** The device, with the port that the listen address belongs to. */
    public RdmaDevice device() {
        return device;
    }

    /** Where peers connect to, at the address given to {@link #open}. */
    public InetSocketAddress listenAddress() {
        return listenAddress;
    }

    /**
     * Listens on one more address of the same device, on a port that the system chooses; at most 16 in all. Any thread.
     *
     * @param backlog as for {@link #open}
     * @return where peers connect to
     * @throws VerbsException with the step "no RDMA device at this address" or "address of another device"
     */
    public InetSocketAddress listen(InetAddress address, int backlog) throws VerbsException {
        int port =
                checked(useInt(() -> Native.endpointListen(endpoint, address.getAddress(), scopeId(address), backlog)));
        return new InetSocketAddress(address, port);
    }

    /**
     * Pins memory and makes it usable by the device. Takes long where pages are touched for the first time (up to
     * seconds per GB). Any thread.
     *
     * @param address first byte, need not be page-aligned
     * @param lengthBytes at least 1, at most {@link RdmaDevice#maxMrBytes}
     * @param access rights, of {@link Access}
     * @throws VerbsException EPERM or ENOMEM from RLIMIT_MEMLOCK, EFAULT when the kernel cannot pin the mapping
     */
    public MemoryRegion register(long address, long lengthBytes, int access) throws VerbsException {
        if (lengthBytes < 1) {
            throw new IllegalArgumentException("length " + lengthBytes);
        }
        long region = checked(use(() -> Native.register(endpoint, address, lengthBytes, access)));
        return new MemoryRegion(this, region, address, lengthBytes);
    }

    /** Makes the poll under way, else the next one, return at once. Any thread; does nothing once closed. */
    public void wake() {
        useIfOpen(() -> Native.wake(endpoint));
    }

    /**
     * Collects what has happened, waiting for the first of it if there is nothing: completions, connection-manager
     * events (acknowledged once copied) and device events. Events of a device go to one of the endpoints on it. Loop
     * thread.
     *
     * @param out overwritten
     * @param timeoutMillis longest wait; 0 for none, negative for no limit
     * @param spinMicros how long a wait spins, 0 or more, looking for completions only, before it sleeps; if the last wait was longer than
     *     that, it sleeps at once
     * @return the number of completions and events in {@code out}; 0 after a time-out or {@link #wake}, or for no reason
     */
    public int poll(EventBatch out, int timeoutMillis, int spinMicros) throws VerbsException {
        return checked(useInt(() -> Native.poll(endpoint, out.emptied(), timeoutMillis, spinMicros)));
    }

    /** The same without spinning. */
    public int poll(EventBatch out, int timeoutMillis) throws VerbsException {
        return poll(out, timeoutMillis, 0);
    }

    /**
     * Starts to connect to a peer. An ADDR_RESOLVED or ADDR_ERROR event follows. Loop thread.
     *
     * @param local address of this endpoint's device to connect from, of the peer's family
     * @param timeoutMillis for the address resolution
     */
    public VerbsConnection resolve(InetAddress local, InetSocketAddress peer, int timeoutMillis) throws VerbsException {
        InetAddress ip = peer.getAddress();
        if (ip == null) {
            throw new IllegalArgumentException("unresolved " + peer);
        }
        long connection = checked(use(() -> Native.resolve(
                endpoint,
                local.getAddress(),
                scopeId(local),
                ip.getAddress(),
                scopeId(ip),
                peer.getPort(),
                timeoutMillis)));
        return new VerbsConnection(this, connection);
    }

    /**
     * Takes over the connection of a CONNECT_REQUEST, to be accepted or rejected, and closed in any case. A request
     * not taken over stays open until the endpoint is closed. Loop thread.
     *
     * @throws IllegalStateException when the event is none, or was taken before
     */
    public VerbsConnection incoming(EventBatch events, int index) {
        return new VerbsConnection(this, use(() -> events.takeRequest(index)));
    }

    /**
     * Closes connections and regions that are still open, then the endpoint, after waiting for calls under way, which it
     * wakes. The second call does nothing.
     */
    @Override
    public void close() {
        closing = true;
        wake();
        lifecycle.writeLock().lock();
        try {
            if (!closed) {
                closed = true;
                Native.endpointClose(endpoint);
            }
        } finally {
            lifecycle.writeLock().unlock();
        }
    }

    @Override
    public String toString() {
        return "VerbsEndpoint[" + device.name() + ", " + listenAddress + "]";
    }

    /** Closing an endpoint has already deregistered its regions. */
    void deregister(long region) {
        useIfOpen(() -> Native.deregister(region));
    }

    /** Runs a native call on the open endpoint. */
    long use(LongSupplier call) {
        lifecycle.readLock().lock();
        try {
            if (closing) {
                throw new IllegalStateException(this + " is closed");
            }
            return call.getAsLong();
        } finally {
            lifecycle.readLock().unlock();
        }
    }

    /** As {@link #use}, for calls that return an int. */
    int useInt(IntSupplier call) {
        return (int) use(call::getAsInt);
    }

    /** Runs a native call unless the endpoint is closed, which has freed all that belonged to it. */
    void useIfOpen(Runnable call) {
        lifecycle.readLock().lock();
        try {
            if (!closed) {
                call.run();
            }
        } finally {
            lifecycle.readLock().unlock();
        }
    }

    static long checked(long rc) throws VerbsException {
        if (rc < 0) {
            throw VerbsException.ofLastCall(rc);
        }
        return rc;
    }

    static int checked(int rc) throws VerbsException {
        return (int) checked((long) rc);
    }

    private static int scopeId(InetAddress address) {
        return address instanceof Inet6Address ip6 ? ip6.getScopeId() : 0;
    }
}
