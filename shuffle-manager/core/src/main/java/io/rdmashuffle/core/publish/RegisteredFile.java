package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.verbs.MappedFile;
import io.rdmashuffle.verbs.MemoryRegion;

/** A committed file that is readable remotely. Made by {@link FileRegistrar}; whoever asked for it closes it, once. Any thread. */
public final class RegisteredFile implements AutoCloseable {

    private final MappedFile mapping;
    private final MemoryRegion region;
    private final Placement placement;
    private final PinnedBudget budget;
    private final long pinnedBytes; // of the budget
    private boolean deregistered;

    RegisteredFile(
            MappedFile mapping, MemoryRegion region, Placement placement, PinnedBudget budget, long pinnedBytes) {
        this.mapping = mapping;
        this.region = region;
        this.placement = placement;
        this.budget = budget;
        this.pinnedBytes = pinnedBytes;
    }

    /** DIRECT or ODP. */
    public Placement placement() {
        return placement;
    }

    /** Of the first byte of the file, for READs. */
    public long address() {
        return mapping.address();
    }

    public int rkey() {
        return region.rkey();
    }

    public long lengthBytes() {
        return mapping.lengthBytes();
    }

    /** Who owned the file when it was mapped. */
    public int ownerUid() {
        return mapping.ownerUid();
    }

    /** Bytes that it keeps in memory: its length, or 0 with on-demand paging. */
    long pinnedBytes() {
        return pinnedBytes;
    }

    /**
     * Deregisters and gives the bytes back to the budget; READs under way from it fail. It stays mapped: adapters give out an rkey again,
     * and as long as a reader may know it together with these addresses, they must not come to lie in what is registered next.
     */
    synchronized void deregister() {
        if (!deregistered) {
            deregistered = true;
            region.close();
            budget.release(pinnedBytes);
        }
    }

    /** Deregisters if that was not done before, and unmaps. */
    @Override
    public void close() {
        deregister();
        mapping.close();
    }
}
