package io.rdmashuffle.core.directory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * What this executor knows of the directory: each shuffle's table, asked for once and again only when a map output is missing that
 * no earlier answer could have held, and the offsets that were read. Loop thread only.
 */
public final class LocationCache {

    /** One shuffle's table. */
    private static final class Table {
        Map<Long, PublishedOutput> outputs = Map.of();
        /** Map outputs that an answer did not hold though they were committed by then: they never will be published. */
        final Set<Long> absent = new HashSet<>();

        /** Owners that said that their outputs are not registered any more, which an older answer may not know. */
        final Set<Long> unpinned = new HashSet<>();

        List<Consumer<Throwable>> waiting;
        boolean fetched;
    }

    private final Function<Integer, CompletableFuture<Message.Locations>> source;
    private final Consumer<Runnable> loop;
    private final long maxOffsetsBytes;
    private final Map<Integer, Table> tables = new HashMap<>();
    private long offsetsBytes;

    /**
     * @param loop runs work on the loop thread
     * @param maxOffsetsBytes most bytes of offsets kept; beyond it they are read again for each fetch
     */
    public LocationCache(DirectoryClient client, Consumer<Runnable> loop, long maxOffsetsBytes) {
        this.source = client::locate;
        this.loop = loop;
        this.maxOffsetsBytes = maxOffsetsBytes;
    }

    /** The entry of a map output, or null when the table as it is does not hold it. */
    public PublishedOutput find(int shuffleId, long mapId) {
        Table table = tables.get(shuffleId);
        return table == null ? null : table.outputs.get(mapId);
    }

    /** Whether asking the directory again could bring an entry for this committed map output. */
    public boolean mayAppear(int shuffleId, long mapId) {
        Table table = tables.get(shuffleId);
        return table == null || !table.fetched || !table.absent.contains(mapId);
    }

    /** Says that a table fetched after the map output was committed does not hold it. */
    public void markAbsent(int shuffleId, long mapId) {
        Table table = tables.get(shuffleId);
        if (table != null) {
            table.absent.add(mapId);
        }
    }

    /**
     * Asks the directory, once for all who wait; then tells with null, or with what went wrong.
     *
     * @return false when an earlier question is still under way, whose answer may be older than a map output that is missed
     */
    public boolean refresh(int shuffleId, Consumer<Throwable> whenDone) {
        Table table = tables.computeIfAbsent(shuffleId, id -> new Table());
        if (table.waiting != null) {
            table.waiting.add(whenDone);
            return false;
        }
        table.waiting = new ArrayList<>(List.of(whenDone));
        source.apply(shuffleId).whenComplete((answer, error) -> loop.accept(() -> answered(table, answer, error)));
        return true;
    }

    /** Keeps the offsets of a map output if there is room. */
    public void keepOffsets(PublishedOutput output, long[] offsets) {
        long bytes = 8L * offsets.length;
        if (output.offsets() == null && offsetsBytes + bytes <= maxOffsetsBytes) {
            offsetsBytes += bytes;
            output.setOffsets(offsets);
        }
    }

    /** What the owner has of the shuffle is not registered any more. */
    public void unpin(long ownerIncarnation, int shuffleId) {
        Table table = tables.get(shuffleId);
        if (table != null) { // else the directory, when asked, knows already
            table.unpinned.add(ownerIncarnation);
            table.outputs.values().forEach(output -> unpin(table, output));
        }
    }

    /** Forgets a shuffle. */
    public void forget(int shuffleId) {
        Table table = tables.remove(shuffleId);
        if (table != null) {
            offsetsBytes -= keptBytes(table);
        }
    }

    private void answered(Table table, Message.Locations answer, Throwable error) {
        if (error == null) {
            offsetsBytes -= keptBytes(table);
            table.outputs = index(answer, table.outputs);
            table.outputs.values().forEach(output -> unpin(table, output));
            offsetsBytes += keptBytes(table);
            table.absent.removeAll(table.outputs.keySet());
            table.fetched = true;
        }
        List<Consumer<Throwable>> waiting = table.waiting;
        table.waiting = null;
        waiting.forEach(waiter -> waiter.accept(error));
    }

    private static Map<Long, PublishedOutput> index(Message.Locations answer, Map<Long, PublishedOutput> known) {
        Map<Long, PublishedOutput> outputs = new HashMap<>();
        for (Message.OwnedOutputs owned : answer.owners()) {
            for (MapOutputLocation location : owned.outputs()) {
                PublishedOutput before = known.get(location.mapId());
                boolean same = before != null
                        && before.location().equals(location)
                        && before.owner().equals(owned.owner());
                outputs.put(location.mapId(), same ? before : new PublishedOutput(owned.owner(), location));
            }
        }
        return outputs;
    }

    private static void unpin(Table table, PublishedOutput output) {
        if (table.unpinned.contains(output.owner().incarnation())) {
            output.unpin();
        }
    }

    private static long keptBytes(Table table) {
        return table.outputs.values().stream()
                .mapToLong(output -> output.offsets() == null ? 0 : 8L * output.offsets().length)
                .sum();
    }
}
