package io.rdmashuffle.core.memory;

import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * The offsets of one shuffle's map outputs of this process, readable remotely: one row of R+1 little-endian longs for each map
 * output, rows of consecutive outputs adjacent, so that a reader gets many of them with one READ. Grows by registered chunks.
 * Guarded by its owner's lock.
 */
public final class OffsetsRegion implements AutoCloseable {

    private static final long MIN_CHUNK_BYTES = 4 << 10;
    private static final long FIRST_CHUNK_BYTES = 64 << 10;
    private static final int SHUFFLES = 64; // that the budget has room for at least
    private static final long MAX_CHUNK_BYTES = 1 << 20;

    /** Where a row lies, for READs. */
    public record Row(long address, int rkey) {
        @Override
        public String toString() {
            return "Row";
        }
    }

    private final VerbsEndpoint endpoint;
    private final PinnedBudget budget;
    private final List<RegisteredMemory> chunks = new ArrayList<>();
    private long usedOfLast;

    public OffsetsRegion(VerbsEndpoint endpoint, PinnedBudget budget) {
        this.endpoint = endpoint;
        this.budget = budget;
    }

    /**
     * Appends the row of one map output.
     *
     * @param partitionLengths bytes of each reduce partition in the data file, in order
     * @return the row, or null when the budget does not allow for it
     * @throws VerbsException when the system refuses memory or registration
     */
    public Row append(long[] partitionLengths) throws VerbsException {
        long rowBytes = rowBytes(partitionLengths.length);
        if ((chunks.isEmpty() || last().memory().lengthBytes() - usedOfLast < rowBytes) && !grow(rowBytes)) {
            return null;
        }
        ByteBuffer row = last().memory().buffer(usedOfLast, (int) rowBytes).order(ByteOrder.LITTLE_ENDIAN);
        long offset = 0;
        row.putLong(offset);
        for (long length : partitionLengths) {
            offset += length;
            row.putLong(offset);
        }
        Row at = new Row(last().memory().address() + usedOfLast, last().region().rkey());
        usedOfLast += rowBytes;
        return at;
    }

    /** Bytes of a row for this many reduce partitions. */
    public static long rowBytes(int partitions) {
        return 8L * (partitions + 1);
    }

    @Override
    public void close() {
        for (RegisteredMemory chunk : chunks) {
            chunk.close();
            budget.release(chunk.memory().lengthBytes());
        }
        chunks.clear();
    }

    private long firstChunkBytes() {
        return Math.max(MIN_CHUNK_BYTES, Math.min(FIRST_CHUNK_BYTES, budget.maxBytes() / SHUFFLES));
    }

    private RegisteredMemory last() {
        return chunks.get(chunks.size() - 1);
    }

    private boolean grow(long rowBytes) throws VerbsException {
        long doubled =
                chunks.isEmpty() ? firstChunkBytes() : 2 * last().memory().lengthBytes();
        long bytes = Math.max(rowBytes, Math.min(doubled, MAX_CHUNK_BYTES));
        if (!budget.tryReserve(bytes)) {
            return false;
        }
        try {
            chunks.add(RegisteredMemory.allocate(endpoint, bytes, Access.REMOTE_READ));
        } catch (VerbsException | RuntimeException e) { // the latter of a closed endpoint
            budget.release(bytes);
            throw e;
        }
        usedOfLast = 0;
        return true;
    }
}
