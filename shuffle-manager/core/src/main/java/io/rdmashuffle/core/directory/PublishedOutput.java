package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.connection.Owner;

/**
 * A map output as those know it who read it: a view of its row in the table, and its offsets once they were read. Loop thread only.
 */
public final class PublishedOutput {

    private LocationTable table;
    private int row;
    private long[] offsets;

    PublishedOutput(LocationTable table, int row) {
        move(table, row);
    }

    public Owner owner() {
        return table.owner(row);
    }

    long mapId() {
        return table.mapId(row);
    }

    public Placement placement() {
        return table.placement(row);
    }

    /** 0 when {@link Placement#STAGED}. */
    public long dataAddress() {
        return table.dataAddress(row);
    }

    /** 0 when {@link Placement#STAGED}. */
    public int dataRkey() {
        return table.dataRkey(row);
    }

    public long dataBytes() {
        return table.dataBytes(row);
    }

    public long offsetsAddress() {
        return table.offsetsAddress(row);
    }

    public int offsetsRkey() {
        return table.offsetsRkey(row);
    }

    public int partitions() {
        return table.partitions();
    }

    /** R+1 offsets into the data file, or null when they were not read or not kept. */
    public long[] offsets() {
        return offsets;
    }

    /** A later table holds it too; the placement may have changed. */
    void move(LocationTable to, int toRow) {
        table = to;
        row = toRow;
    }

    /** Whether a row of another table is of the same file, with the same offsets. */
    boolean isSameAs(LocationTable other, int otherRow) {
        return owner().equals(other.owner(otherRow))
                && dataBytes() == other.dataBytes(otherRow)
                && offsetsAddress() == other.offsetsAddress(otherRow)
                && offsetsRkey() == other.offsetsRkey(otherRow)
                && partitions() == other.partitions();
    }

    void setOffsets(long[] offsets) {
        this.offsets = offsets;
    }
}
