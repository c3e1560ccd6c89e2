package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.connection.Owner;

/** A map output as a reader knows it, with its offsets once they were read. Loop thread only. */
public final class PublishedOutput {

    private final Owner owner;
    private MapOutputLocation location;
    private long[] offsets;

    PublishedOutput(Owner owner, MapOutputLocation location) {
        this.owner = owner;
        this.location = location;
    }

    public Owner owner() {
        return owner;
    }

    public MapOutputLocation location() {
        return location;
    }

    /** R+1 offsets into the data file, or null when they were not read or not kept. */
    public long[] offsets() {
        return offsets;
    }

    /** Its owner said that the data file is not registered any more. */
    void unpin() {
        location = location.staged();
    }

    void setOffsets(long[] offsets) {
        this.offsets = offsets;
    }
}
