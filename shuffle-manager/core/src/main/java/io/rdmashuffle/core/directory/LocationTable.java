package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.connection.Owner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Where the map outputs of one shuffle can be read, as columns: 45 bytes a row, and at most 11 bytes of an open-addressing index by
 * mapId, so that neither the driver nor an executor keeps an object per map output. Columns come in chunks: nothing is copied when a
 * table grows, little lies idle in a small one, and no array is large enough for G1 to give it whole regions. A mapId is a task attempt
 * and has one owner: the last one that published it. Not thread-safe.
 */
public final class LocationTable {

    private static final int CHUNK_BITS = 7;
    private static final int CHUNK_ROWS = 1 << CHUNK_BITS;
    private static final int GONE =
            -1; // owner of a row that was removed; a new location of the same map output takes it again
    private static final Placement[] PLACEMENTS = Placement.values();

    private static final class Chunk {
        final long[] mapIds = new long[CHUNK_ROWS];
        final int[] owners = new int[CHUNK_ROWS];
        final byte[] placements = new byte[CHUNK_ROWS];
        final long[] dataAddresses = new long[CHUNK_ROWS];
        final int[] dataRkeys = new int[CHUNK_ROWS];
        final long[] dataBytes = new long[CHUNK_ROWS];
        final long[] offsetsAddresses = new long[CHUNK_ROWS];
        final int[] offsetsRkeys = new int[CHUNK_ROWS];

        void set(int at, int owner, MapOutputLocation location) {
            mapIds[at] = location.mapId();
            owners[at] = owner;
            placements[at] = (byte) location.placement().ordinal();
            dataAddresses[at] = location.dataAddress();
            dataRkeys[at] = location.dataRkey();
            dataBytes[at] = location.dataBytes();
            offsetsAddresses[at] = location.offsetsAddress();
            offsetsRkeys[at] = location.offsetsRkey();
        }
    }

    private final List<Owner> owners = new ArrayList<>();
    private final Map<Owner, Integer> ownerIndexes = new HashMap<>();
    private final List<Chunk> chunks = new ArrayList<>();
    private int partitions;
    private int rows;
    private int gone;

    /** Row + 1 by hash of the mapId; 0 is free. At most 13 of 16 are taken. */
    private int[] slots = new int[2 * CHUNK_ROWS];

    /**
     * Adds a map output, or replaces what was said of it before.
     *
     * @return false when it has not as many partitions as the others: nothing is changed then
     */
    public boolean put(Owner owner, MapOutputLocation location) {
        if (rows > 0 && location.partitions() != partitions) {
            return false;
        }
        int row = slots[slotOf(location.mapId())] - 1;
        if (row < 0) {
            row = newRow(location.mapId());
        } else if (ownerOf(row) == GONE) {
            gone--;
        }
        partitions = location.partitions();
        chunk(row).set(at(row), indexOf(owner), location);
        return true;
    }

    /** The row of a map output, good until the table changes; -1 when it is not there. */
    public int find(long mapId) {
        int row = slots[slotOf(mapId)] - 1;
        return row >= 0 && ownerOf(row) != GONE ? row : -1;
    }

    /** Map outputs that are there. */
    public int size() {
        return rows - gone;
    }

    /** Rows of the map outputs that are there, in the order in which they came. */
    public IntStream rows() {
        return IntStream.range(0, rows).filter(row -> ownerOf(row) != GONE);
    }

    public Owner owner(int row) {
        return owners.get(ownerOf(row));
    }

    /** All that ever had a map output here. */
    List<Owner> owners() {
        return owners;
    }

    /** Of {@link #owners}. */
    int ownerIndex(int row) {
        return ownerOf(row);
    }

    /** What was put, as a record of its own: for those who want few of them. */
    public MapOutputLocation location(int row) {
        return new MapOutputLocation(
                mapId(row),
                placement(row),
                dataAddress(row),
                dataRkey(row),
                dataBytes(row),
                offsetsAddress(row),
                offsetsRkey(row),
                partitions);
    }

    /** Removes a map output if it is this owner's. */
    boolean remove(long mapId, long incarnation) {
        int row = find(mapId);
        if (row < 0 || owner(row).incarnation() != incarnation) {
            return false;
        }
        remove(row);
        return true;
    }

    /** Removes what an owner has. */
    boolean removeOwner(long incarnation) {
        int[] theirs = rowsOf(incarnation).toArray();
        Arrays.stream(theirs).forEach(this::remove);
        return theirs.length > 0;
    }

    /** The data files of an owner are not registered any more. */
    void stage(long incarnation) {
        rowsOf(incarnation).forEach(row -> {
            chunk(row).placements[at(row)] = (byte) Placement.STAGED.ordinal();
            chunk(row).dataAddresses[at(row)] = 0;
            chunk(row).dataRkeys[at(row)] = 0;
        });
    }

    /** Rows there is memory for. */
    int capacity() {
        return chunks.size() * CHUNK_ROWS;
    }

    int partitions() {
        return partitions;
    }

    long mapId(int row) {
        return chunk(row).mapIds[at(row)];
    }

    Placement placement(int row) {
        return PLACEMENTS[chunk(row).placements[at(row)]];
    }

    long dataAddress(int row) {
        return chunk(row).dataAddresses[at(row)];
    }

    int dataRkey(int row) {
        return chunk(row).dataRkeys[at(row)];
    }

    long dataBytes(int row) {
        return chunk(row).dataBytes[at(row)];
    }

    long offsetsAddress(int row) {
        return chunk(row).offsetsAddresses[at(row)];
    }

    int offsetsRkey(int row) {
        return chunk(row).offsetsRkeys[at(row)];
    }

    private Chunk chunk(int row) {
        return chunks.get(row >>> CHUNK_BITS);
    }

    private static int at(int row) {
        return row & (CHUNK_ROWS - 1);
    }

    private int ownerOf(int row) {
        return chunk(row).owners[at(row)];
    }

    private void remove(int row) {
        chunk(row).owners[at(row)] = GONE;
        gone++;
    }

    private IntStream rowsOf(long incarnation) {
        return rows().filter(row -> owner(row).incarnation() == incarnation);
    }

    private int indexOf(Owner owner) {
        return ownerIndexes.computeIfAbsent(owner, unknown -> {
            owners.add(owner);
            return owners.size() - 1;
        });
    }

    /** Where the mapId stands, or the free slot where it would. */
    private int slotOf(long mapId) {
        int mask = slots.length - 1;
        int slot =
                (int) ((mapId * 0x9E3779B97F4A7C15L) >>> 32) & mask; // Fibonacci hashing: mapIds are nearly consecutive
        while (slots[slot] != 0 && mapId(slots[slot] - 1) != mapId) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private int newRow(long mapId) {
        if (rows == capacity()) {
            makeRoom();
        }
        chunk(rows).mapIds[at(rows)] = mapId;
        slots[slotOf(mapId)] = rows + 1;
        return rows++;
    }

    /** Drops removed rows when that is worth it, else adds a chunk. */
    private void makeRoom() {
        if (gone > rows / 8) {
            compact();
            index(slots.length);
        } else {
            chunks.add(new Chunk());
            if (capacity() > slots.length / 16 * 13) {
                index(2 * slots.length);
            }
        }
    }

    private void compact() {
        int to = 0;
        for (int row : rows().toArray()) {
            chunk(to).set(at(to), ownerOf(row), location(row));
            to++;
        }
        rows = to;
        gone = 0;
        chunks.subList(rows / CHUNK_ROWS + 1, chunks.size()).clear();
    }

    private void index(int capacity) {
        slots = new int[capacity];
        for (int row = 0; row < rows; row++) {
            slots[slotOf(mapId(row))] = row + 1;
        }
    }
}
