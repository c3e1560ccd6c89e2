package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.verbs.MappedFile;
import io.rdmashuffle.verbs.MemoryRegion;

/** A committed file that is readable remotely. Made by {@link FileRegistrar}; whoever asked for it closes it, once. Any thread. */
public final class RegisteredFile implements AutoCloseable {

    private final MappedFile mapping;
    private final MemoryRegion region;
    private final PinnedBudget budget;

    RegisteredFile(MappedFile mapping, MemoryRegion region, PinnedBudget budget) {
        this.mapping = mapping;
        this.region = region;
        this.budget = budget;
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

    /** Deregisters, unmaps and gives the bytes back to the budget. READs under way from it fail. */
    @Override
    public void close() {
        region.close();
        budget.release(mapping.lengthBytes());
        mapping.close();
    }
}
