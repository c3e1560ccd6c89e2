package io.rdmashuffle.core.memory;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Registered buffers of one size that an owner copies bytes of unregistered map outputs into, for readers to READ. Made when first
 * wanted, kept until closed. Loop thread only.
 */
public final class StagingPool implements AutoCloseable {

    private static final long MAX_BUFFER_BYTES = 1 << 20;
    private static final int MIN_BUFFERS = 4;
    private static final int PAGE_BYTES = 4096;

    /** One buffer; whoever took it gives it back once, when no reader can reach it any more. */
    public static final class Buffer {

        private final RegisteredMemory memory;
        private final ByteBuffer bytes;

        private Buffer(RegisteredMemory memory) {
            this.memory = memory;
            this.bytes = memory.memory().buffer(0, (int) memory.memory().lengthBytes());
        }

        public long address() {
            return memory.memory().address();
        }

        public int rkey() {
            return memory.region().rkey();
        }

        /** A view of all of it, the same each time: for one thread at a time. */
        public ByteBuffer bytes() {
            return bytes;
        }
    }

    private final VerbsEndpoint endpoint;
    private final PinnedBudget budget;
    private final int bufferBytes;
    private final ArrayDeque<Buffer> free = new ArrayDeque<>();
    private volatile int taken;
    private boolean closed;

    public StagingPool(VerbsEndpoint endpoint, PinnedBudget budget) {
        this.endpoint = endpoint;
        this.budget = budget;
        long bytes = Math.min(MAX_BUFFER_BYTES, budget.maxBytes() / MIN_BUFFERS);
        this.bufferBytes = (int) (bytes / PAGE_BYTES * PAGE_BYTES);
    }

    /** Size of each buffer; 0 when there is no memory for staging at all. */
    public int bufferBytes() {
        return bufferBytes;
    }

    /**
     * A buffer, or null when all are in use.
     *
     * @throws VerbsException when the system refuses memory or registration
     */
    public Buffer tryTake() throws VerbsException {
        if (closed || bufferBytes == 0) {
            return null;
        }
        Buffer buffer = free.poll();
        if (buffer == null && budget.tryReserve(bufferBytes)) {
            buffer = create();
        }
        taken += buffer == null ? 0 : 1;
        return buffer;
    }

    /** Buffers that were taken and not given back; any thread. */
    public int taken() {
        return taken;
    }

    public void giveBack(Buffer buffer) {
        taken--;
        if (closed) {
            destroy(buffer);
        } else {
            free.push(buffer);
        }
    }

    /** Deregisters what is free now, and what is taken when it comes back. */
    @Override
    public void close() {
        closed = true;
        free.forEach(this::destroy);
        free.clear();
    }

    private Buffer create() throws VerbsException {
        try {
            return new Buffer(RegisteredMemory.allocate(endpoint, bufferBytes, Access.REMOTE_READ));
        } catch (VerbsException | RuntimeException e) { // the latter of a closed endpoint
            budget.release(bufferBytes);
            throw e;
        }
    }

    private void destroy(Buffer buffer) {
        buffer.memory.close();
        budget.release(bufferBytes);
    }
}
