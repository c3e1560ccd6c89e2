package io.rdmashuffle.integration.bench;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.NativeMemory;
import io.rdmashuffle.verbs.RdmaDevice;
import io.rdmashuffle.verbs.ReadBatch;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import io.rdmashuffle.verbs.WcStatus;
import java.net.InetAddress;
import java.util.Arrays;

/**
 * An owner and a reader in one process, each on a device of its own address, and the reader's READs over one connection: posted in
 * chains, the last of a chain signaled, as our shuffle reads do. The owner does nothing: READs are one-sided. One thread.
 */
public final class JavaReads implements AutoCloseable {

    private static final int CQ_ENTRIES = 1024;
    private static final int TIMEOUT_MILLIS = 10_000;
    /** For a device as slow as that of the lab, which is emulated; the shuffle spins for 20. */
    private static final int SPIN_MICROS = 1000;

    private final VerbsEndpoint owner;
    private final VerbsEndpoint reader;
    private final NativeMemory sourceMemory;
    private final NativeMemory sinkMemory;
    private final MemoryRegion source;
    private final MemoryRegion sink;
    private final VerbsConnection connection;
    private final EventBatch events = new EventBatch(64, 8);
    private final int depth;
    private final ReadBatch batch;

    /** @param depth READs under way at once, at least 1 */
    public JavaReads(InetAddress ownerAddress, InetAddress readerAddress, int depth, int maxBytes)
            throws VerbsException {
        this.depth = depth;
        batch = new ReadBatch(depth);
        owner = VerbsEndpoint.open(ownerAddress, 4, CQ_ENTRIES);
        reader = VerbsEndpoint.open(readerAddress, 4, CQ_ENTRIES);
        sourceMemory = NativeMemory.allocate(maxBytes);
        sinkMemory = NativeMemory.allocate((long) maxBytes * depth);
        source = owner.register(sourceMemory.address(), maxBytes, Access.REMOTE_READ);
        boolean iwarp = reader.device().transport() == RdmaDevice.Transport.IWARP;
        sink = reader.register(
                sinkMemory.address(),
                sinkMemory.lengthBytes(),
                Access.LOCAL_WRITE | (iwarp ? Access.REMOTE_WRITE : 0)); // docs/decisions/iwarp-sink-rights.md
        connection = connect(readerAddress);
    }

    /** Whose completions are those of the READs. */
    public VerbsEndpoint reader() {
        return reader;
    }

    /** Number of the connection's queue pair. */
    public int queuePair() {
        return connection.qpNumber();
    }

    String ownerDevice() {
        return owner.device().name();
    }

    String readerDevice() {
        return reader.device().name();
    }

    /** READs that are posted at once, a quarter of the depth. */
    int chain() {
        return Math.max(1, depth / 4);
    }

    /** READs per second with {@code depth} of them under way. */
    double readsPerSecond(int bytes, long reads) throws VerbsException {
        int chain = chain();
        long posted = 0;
        long done = 0;
        long start = System.nanoTime();
        while (done < reads) {
            while (posted < reads && posted - done <= depth - chain) {
                posted += post(bytes, (int) Math.min(chain, reads - posted), posted);
            }
            done += completed(-1);
        }
        return reads / ((System.nanoTime() - start) / 1e9);
    }

    /** Median time of one READ with none beside it, in microseconds. */
    double medianMicros(int bytes, int reads) throws VerbsException {
        long[] nanos = new long[reads];
        for (int i = 0; i < reads; i++) {
            long start = System.nanoTime();
            post(bytes, 1, i);
            while (completed(-1) == 0) {}
            nanos[i] = System.nanoTime() - start;
        }
        Arrays.sort(nanos);
        return nanos[reads / 2] / 1e3;
    }

    /** Posts a chain; its last READ, whose id is the length of the chain, is the one that is reported. */
    public int post(int bytes, int count, long first) throws VerbsException {
        batch.clear();
        for (int i = 0; i < count; i++) {
            long slot = (first + i) % depth;
            boolean last = i == count - 1;
            batch.add(count, sink.address() + slot * bytes, sink.lkey(), source.address(), source.rkey(), bytes, last);
        }
        for (int from = 0; from < count; ) {
            from += connection.post(batch, from, count - from);
        }
        return count;
    }

    /** READs that have ended since the last call; one that waits spins first. */
    public long completed(int timeoutMillis) throws VerbsException {
        reader.poll(events, timeoutMillis, SPIN_MICROS);
        long done = 0;
        for (int i = 0; i < events.completions(); i++) {
            if (events.status(i) != WcStatus.SUCCESS) {
                throw new IllegalStateException("a READ ended with " + events.status(i));
            }
            done += events.wrId(i);
        }
        return done;
    }

    private VerbsConnection connect(InetAddress readerAddress) throws VerbsException {
        VerbsConnection made = reader.resolve(readerAddress, owner.listenAddress(), TIMEOUT_MILLIS);
        await(reader, CmEventType.ADDR_RESOLVED);
        made.resolveRoute(TIMEOUT_MILLIS);
        await(reader, CmEventType.ROUTE_RESOLVED);
        made.connect(new byte[0], depth);
        int request = await(owner, CmEventType.CONNECT_REQUEST);
        owner.incoming(events, request).accept(new byte[0], 1, events, request);
        await(reader, CmEventType.ESTABLISHED);
        return made;
    }

    /** @return its place in the events */
    private int await(VerbsEndpoint endpoint, CmEventType wanted) throws VerbsException {
        long deadline = System.nanoTime() + TIMEOUT_MILLIS * 1_000_000L;
        while (System.nanoTime() < deadline) {
            endpoint.poll(events, 100);
            for (int i = 0; i < events.cmEvents(); i++) {
                if (events.cmType(i) == wanted) {
                    return i;
                }
            }
        }
        throw new IllegalStateException("no " + wanted + " within " + TIMEOUT_MILLIS + " ms");
    }

    @Override
    public void close() {
        reader.close();
        owner.close();
        sinkMemory.close();
        sourceMemory.close();
    }
}
