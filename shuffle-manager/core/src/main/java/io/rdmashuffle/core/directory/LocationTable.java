package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.connection.Owner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Where the map outputs of one shuffle can be read, as columns: 45 bytes a row, a slack of an eighth, and at most 11 bytes of an
 * open-addressing index by mapId, so that neither the driver nor an executor keeps an object per map output. A mapId is a task attempt
 * and has one owner: the last one that published it. Not thread-safe.
 */
public final class LocationTable {

    private static final int FIRST_CAPACITY = 64;
    private static final int GONE =
            -1; // owner of a row that was removed; a new location of the same map output takes it again
    private static final Placement[] PLACEMENTS = Placement.values();

    private final List<Owner> owners = new ArrayList<>();
    private final Map<Long, Integer> ownerIndexes = new HashMap<>(); // by incarnation
    private int partitions;
    private int rows;
    private int gone;

    private long[] mapIds = new long[FIRST_CAPACITY];
    private int[] ownerOf = new int[FIRST_CAPACITY];
    private byte[] placements = new byte[FIRST_CAPACITY];
    private long[] dataAddresses = new long[FIRST_CAPACITY];
    private int[] dataRkeys = new int[FIRST_CAPACITY];
    private long[] dataBytes = new long[FIRST_CAPACITY];
    private long[] offsetsAddresses = new long[FIRST_CAPACITY];
    private int[] offsetsRkeys = new int[FIRST_CAPACITY];

    /** Row + 1 by hash of the mapId; 0 is free. At most three quarters full. */
    private int[] slots = new int[2 * FIRST_CAPACITY];

    /**
     * Adds a map output, or replaces what was said of it before.
     *
     * @return false when it has not as many partitions as the others: nothing is changed then
     */
    public boolean put(Owner owner, MapOutputLocation location) {
        if (rows > 0 && location.partitions() != partitions) {
            return false;
        }
        int slot = slotOf(location.mapId());
        if (slots[slot] == 0 && rows == mapIds.length) {
            makeRoom();
            slot = slotOf(location.mapId());
        }
        if (slots[slot] == 0) {
            mapIds[rows] = location.mapId();
            ownerOf[rows] = GONE;
            gone++;
            slots[slot] = ++rows;
        }
        partitions = location.partitions();
        set(slots[slot] - 1, owner, location);
        return true;
    }

    /** The row of a map output, good until the table changes; -1 when it is not there. */
    public int find(long mapId) {
        int row = slots[slotOf(mapId)] - 1;
        return row >= 0 && ownerOf[row] != GONE ? row : -1;
    }

    /** Map outputs that are there. */
    public int size() {
        return rows - gone;
    }

    /** Rows of the map outputs that are there, in the order in which they came. */
    public IntStream rows() {
        return IntStream.range(0, rows).filter(row -> ownerOf[row] != GONE);
    }

    public Owner owner(int row) {
        return owners.get(ownerOf[row]);
    }

    /** All that ever had a map output here. */
    List<Owner> owners() {
        return owners;
    }

    /** Of {@link #owners}. */
    int ownerIndex(int row) {
        return ownerOf[row];
    }

    /** What was put, as a record of its own: for those who want few of them. */
    public MapOutputLocation location(int row) {
        return new MapOutputLocation(
                mapIds[row],
                placement(row),
                dataAddresses[row],
                dataRkeys[row],
                dataBytes[row],
                offsetsAddresses[row],
                offsetsRkeys[row],
                partitions);
    }

    /** Removes a map output if it is this owner's. */
    boolean remove(long mapId, long incarnation) {
        int row = find(mapId);
        if (row < 0 || ownerOf[row] != indexOf(incarnation)) {
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
            placements[row] = (byte) Placement.STAGED.ordinal();
            dataAddresses[row] = 0;
            dataRkeys[row] = 0;
        });
    }

    /** Rows there is memory for. */
    int capacity() {
        return mapIds.length;
    }

    int partitions() {
        return partitions;
    }

    long mapId(int row) {
        return mapIds[row];
    }

    Placement placement(int row) {
        return PLACEMENTS[placements[row]];
    }

    long dataAddress(int row) {
        return dataAddresses[row];
    }

    int dataRkey(int row) {
        return dataRkeys[row];
    }

    long dataBytes(int row) {
        return dataBytes[row];
    }

    long offsetsAddress(int row) {
        return offsetsAddresses[row];
    }

    int offsetsRkey(int row) {
        return offsetsRkeys[row];
    }

    private void set(int row, Owner owner, MapOutputLocation location) {
        if (ownerOf[row] == GONE) {
            gone--;
        }
        ownerOf[row] = ownerIndexes.computeIfAbsent(owner.incarnation(), incarnation -> {
            owners.add(owner);
            return owners.size() - 1;
        });
        placements[row] = (byte) location.placement().ordinal();
        dataAddresses[row] = location.dataAddress();
        dataRkeys[row] = location.dataRkey();
        dataBytes[row] = location.dataBytes();
        offsetsAddresses[row] = location.offsetsAddress();
        offsetsRkeys[row] = location.offsetsRkey();
    }

    private void remove(int row) {
        ownerOf[row] = GONE;
        gone++;
    }

    private IntStream rowsOf(long incarnation) {
        int owner = indexOf(incarnation);
        return rows().filter(row -> ownerOf[row] == owner);
    }

    private int indexOf(long incarnation) {
        return ownerIndexes.getOrDefault(incarnation, GONE);
    }

    /** Where the mapId stands, or the free slot where it would. */
    private int slotOf(long mapId) {
        int mask = slots.length - 1;
        int slot =
                (int) ((mapId * 0x9E3779B97F4A7C15L) >>> 32) & mask; // Fibonacci hashing: mapIds are nearly consecutive
        while (slots[slot] != 0 && mapIds[slots[slot] - 1] != mapId) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    /** Drops removed rows when that is worth it, else grows by an eighth: copying stays cheap and little lies idle. */
    private void makeRoom() {
        if (gone > rows / 8) {
            compact();
        } else {
            resize(rows + Math.max(FIRST_CAPACITY, rows / 8));
        }
        int capacity = slots.length;
        while (mapIds.length > capacity / 4 * 3) {
            capacity *= 2;
        }
        slots = new int[capacity];
        for (int row = 0; row < rows; row++) {
            slots[slotOf(mapIds[row])] = row + 1;
        }
    }

    private void compact() {
        int to = 0;
        for (int row : rows().toArray()) {
            mapIds[to] = mapIds[row];
            ownerOf[to] = ownerOf[row];
            placements[to] = placements[row];
            dataAddresses[to] = dataAddresses[row];
            dataRkeys[to] = dataRkeys[row];
            dataBytes[to] = dataBytes[row];
            offsetsAddresses[to] = offsetsAddresses[row];
            offsetsRkeys[to] = offsetsRkeys[row];
            to++;
        }
        rows = to;
        gone = 0;
    }

    private void resize(int capacity) {
        mapIds = Arrays.copyOf(mapIds, capacity);
        ownerOf = Arrays.copyOf(ownerOf, capacity);
        placements = Arrays.copyOf(placements, capacity);
        dataAddresses = Arrays.copyOf(dataAddresses, capacity);
        dataRkeys = Arrays.copyOf(dataRkeys, capacity);
        dataBytes = Arrays.copyOf(dataBytes, capacity);
        offsetsAddresses = Arrays.copyOf(offsetsAddresses, capacity);
        offsetsRkeys = Arrays.copyOf(offsetsRkeys, capacity);
    }
}
