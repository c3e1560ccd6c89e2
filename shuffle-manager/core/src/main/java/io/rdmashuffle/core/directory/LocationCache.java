package io.rdmashuffle.core.directory;

import java.util.ArrayList;
import java.util.Arrays;
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
 * no earlier answer could have held or when a READ failed, and the offsets that were read. Loop thread only.
 */
public final class LocationCache {

    /** One shuffle's table. */
    private static final class Table {
        LocationTable outputs = new LocationTable();
        /** By row; null until somebody reads the map output. */
        PublishedOutput[] seen = {};
        /** Map outputs that an answer did not hold though they were committed by then: they never will be published. */
        final Set<Long> absent = new HashSet<>();

        /** Owners that said that their outputs are not registered any more, which an older answer may not know. */
        final Set<Long> unpinned = new HashSet<>();

        List<Consumer<Throwable>> waiting;
        boolean fetched;
        boolean doubted;

        PublishedOutput find(long mapId) {
            int row = outputs.find(mapId);
            if (row >= 0 && seen[row] == null) {
                seen[row] = new PublishedOutput(outputs, row);
            }
            return row < 0 ? null : seen[row];
        }

        /** Takes an answer's outputs; what is known of those that stayed as they were stays known. */
        void replace(LocationTable answer) {
            PublishedOutput[] known = seen;
            outputs = answer;
            seen = new PublishedOutput[answer.size()];
            for (PublishedOutput output : known) {
                int row = output == null ? -1 : answer.find(output.mapId());
                if (row >= 0 && output.isSameAs(answer, row)) {
                    output.move(answer, row);
                    seen[row] = output;
                }
            }
        }

        long keptBytes() {
            return Arrays.stream(seen)
                    .mapToLong(output -> output == null || output.offsets() == null ? 0 : 8L * output.offsets().length)
                    .sum();
        }
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
        return table == null ? null : table.find(mapId);
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
     * Says that a READ by what is known of the shuffle failed: its owner may have withdrawn it and had no connection to say so, but the
     * directory knows.
     */
    public void doubt(int shuffleId) {
        Table table = tables.get(shuffleId);
        if (table != null) {
            table.doubted = true;
        }
    }

    /** Whether the directory is to be asked before anything more is read by what is known of the shuffle. */
    public boolean isDoubted(int shuffleId) {
        Table table = tables.get(shuffleId);
        return table != null && table.doubted;
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
        table.doubted = false;
        ask(shuffleId).whenComplete((answer, error) -> loop.accept(() -> answered(table, answer, error)));
        return true;
    }

    /** Keeps the offsets of a map output if there is room and the shuffle's table still holds it. */
    public void keepOffsets(int shuffleId, PublishedOutput output, long[] offsets) {
        long bytes = 8L * offsets.length;
        if (output.offsets() == null
                && offsetsBytes + bytes <= maxOffsetsBytes
                && output == find(shuffleId, output.mapId())) {
            offsetsBytes += bytes;
            output.setOffsets(offsets);
        }
    }

    /** Bytes of offsets for which there is room. */
    public long freeOffsetsBytes() {
        return maxOffsetsBytes - offsetsBytes;
    }

    /** What the owner has of the shuffle is not registered any more. */
    public void unpin(long ownerIncarnation, int shuffleId) {
        Table table = tables.get(shuffleId);
        if (table != null) { // else the directory, when asked, knows already
            table.unpinned.add(ownerIncarnation);
            table.outputs.stage(ownerIncarnation);
        }
    }

    /** Forgets a shuffle. */
    public void forget(int shuffleId) {
        Table table = tables.remove(shuffleId);
        if (table != null) {
            offsetsBytes -= table.keptBytes();
        }
    }

    private CompletableFuture<Message.Locations> ask(int shuffleId) {
        try {
            return source.apply(shuffleId);
        } catch (RuntimeException | Error e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Whatever goes wrong, who waits is told. */
    private void answered(Table table, Message.Locations answer, Throwable error) {
        Throwable outcome = error;
        try {
            if (error == null) {
                take(table, answer);
            }
        } catch (RuntimeException | Error e) {
            outcome = e;
        }
        List<Consumer<Throwable>> waiting = table.waiting;
        table.waiting = null;
        for (Consumer<Throwable> waiter : waiting) {
            waiter.accept(outcome);
        }
    }

    private void take(Table table, Message.Locations answer) {
        offsetsBytes -= table.keptBytes();
        table.replace(answer.outputs());
        table.unpinned.forEach(table.outputs::stage);
        offsetsBytes += table.keptBytes();
        table.absent.removeIf(mapId -> table.outputs.find(mapId) >= 0);
        table.fetched = true;
    }
}
