package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.connection.MapOutputFiles;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.memory.OffsetsRegion;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.PinnedShares;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The map outputs of this process that are readable remotely: registers each committed data file if it can, else keeps it to be
 * staged, and appends its offsets to its shuffle's offsets region. Any thread.
 */
public final class MapOutputRegistry implements MapOutputFiles, AutoCloseable {

    /** A shuffle that is to lose its registrations, and what that will free. */
    record Withdrawn(int shuffleId, long pinnedBytes) {}

    /** A map output; {@code registered} is null when it never was, being staged from the start. */
    private record Output(DataFile file, RegisteredFile registered) {}

    private static final class Shuffle {
        final int id;
        final OffsetsRegion offsets;
        final Map<Long, Output> outputs = new HashMap<>();
        boolean withdrawn;
        long lastUseNanos;

        Shuffle(int id, OffsetsRegion offsets) {
            this.id = id;
            this.offsets = offsets;
        }

        Stream<RegisteredFile> registered() {
            return outputs.values().stream().map(Output::registered).filter(file -> file != null);
        }

        long pinnedBytes() {
            return registered().mapToLong(RegisteredFile::pinnedBytes).sum();
        }
    }

    private final VerbsEndpoint endpoint;
    private final PinnedBudget fileBudget;
    private final PinnedBudget offsetsBudget;
    private final boolean stages;
    private final FileRegistrar files;
    private final Counters counters;
    private final Map<Integer, Shuffle> shuffles = new HashMap<>();
    private boolean closed;

    public MapOutputRegistry(VerbsEndpoint endpoint, PinnedShares shares, FileRegistrar files, Counters counters) {
        this.endpoint = endpoint;
        this.fileBudget = shares.mapOutputs();
        this.offsetsBudget = shares.offsets();
        this.stages = shares.staging().maxBytes() > 0;
        this.files = files;
        this.counters = counters;
    }

    /**
     * Makes a committed map output readable remotely. The file must never change or shrink afterwards: a registration outlives
     * truncation and would serve stale bytes.
     *
     * @param partitionLengths bytes of each reduce partition, in order; their sum is the file's length and above 0
     * @throws NotPublishedException when it is not readable now; nothing is kept then
     */
    public MapOutputLocation register(int shuffleId, long mapId, Path dataFile, long[] partitionLengths)
            throws NotPublishedException {
        long start = System.nanoTime();
        long lengthBytes = Arrays.stream(partitionLengths).sum();
        RegisteredFile file = isWithdrawn(shuffleId) ? null : tryRegister(dataFile, lengthBytes);
        try {
            MapOutputLocation location = adopt(shuffleId, mapId, dataFile, file, partitionLengths);
            if (file != null && location.placement() == Placement.STAGED) {
                file.close(); // the shuffle was withdrawn meanwhile
            }
            counters.add(Counter.REGISTRATION_NANOS, System.nanoTime() - start);
            return location;
        } catch (NotPublishedException e) {
            if (file != null) {
                file.close();
            }
            throw e;
        }
    }

    @Override
    public synchronized DataFile find(int shuffleId, long mapId) {
        Shuffle shuffle = shuffles.get(shuffleId);
        Output output = shuffle == null ? null : shuffle.outputs.get(mapId);
        return output == null ? null : output.file;
    }

    @Override
    public synchronized void touch(int shuffleId) {
        Shuffle shuffle = shuffles.get(shuffleId);
        if (shuffle != null) {
            shuffle.lastUseNanos = System.nanoTime();
        }
    }

    /** Takes one map output back: it was never announced, the announcement failed, or it came too late. */
    public void unregister(int shuffleId, long mapId) {
        Shuffle shuffle;
        Output output;
        boolean last;
        synchronized (this) {
            shuffle = shuffles.get(shuffleId);
            output = shuffle == null ? null : shuffle.outputs.remove(mapId);
            last = output != null && shuffle.outputs.isEmpty();
            if (last) {
                shuffles.remove(shuffleId);
            }
        }
        if (output != null && output.registered != null) {
            output.registered.close();
        }
        if (last) {
            release(shuffle);
        }
    }

    /**
     * Deregisters all map outputs of a shuffle. Later ones are welcome: Spark may remove the files of a shuffle and, when it is wanted
     * after all, have them made again under the same id (RemoveShuffleFiles of its SQL). Those of late tasks are refused by the driver.
     */
    public void unregisterShuffle(int shuffleId) {
        Shuffle shuffle;
        synchronized (this) {
            shuffle = shuffles.remove(shuffleId);
        }
        if (shuffle != null) {
            release(shuffle);
        }
    }

    /** Registered bytes of data files and offsets. */
    public long registeredBytes() {
        return fileBudget.usedBytes() + offsetsBudget.usedBytes();
    }

    /** Bytes of data files that could be registered now. */
    long freeBytes() {
        return fileBudget.maxBytes() - fileBudget.usedBytes();
    }

    /** Whether data files of so many bytes could ever be registered. */
    boolean canEverHold(long bytes) {
        return bytes <= fileBudget.maxBytes();
    }

    /**
     * Decides which shuffle is to lose its registrations: the one that was published, staged from or read by this process itself the
     * longest ago, as one-sided READs leave no trace. Its later outputs are staged.
     *
     * @param exceptShuffleId the shuffle that room is wanted for
     * @return null when no other shuffle has any
     */
    synchronized Withdrawn withdrawColdest(int exceptShuffleId) {
        long now = System.nanoTime();
        return shuffles.values().stream()
                .filter(shuffle -> shuffle.id != exceptShuffleId && !shuffle.withdrawn && shuffle.pinnedBytes() > 0)
                .max(Comparator.comparingLong(shuffle -> now - shuffle.lastUseNanos))
                .map(shuffle -> {
                    shuffle.withdrawn = true;
                    return new Withdrawn(shuffle.id, shuffle.pinnedBytes());
                })
                .orElse(null);
    }

    /** Deregisters the data files of a withdrawn shuffle, which stay published to be staged. */
    void deregister(int shuffleId) {
        List<RegisteredFile> registered = new ArrayList<>();
        synchronized (this) {
            Shuffle shuffle = shuffles.get(shuffleId);
            if (shuffle != null && shuffle.withdrawn) { // not one that was made anew since
                shuffle.registered().forEach(registered::add);
            }
        }
        registered.forEach(RegisteredFile::deregister);
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            shuffles.values().forEach(MapOutputRegistry::release);
            shuffles.clear();
        }
    }

    /** Whether its map outputs are staged from now on. */
    synchronized boolean isWithdrawn(int shuffleId) {
        return shuffles.containsKey(shuffleId) && shuffles.get(shuffleId).withdrawn;
    }

    /** Null when the file is to be staged. */
    private RegisteredFile tryRegister(Path dataFile, long lengthBytes) throws NotPublishedException {
        try {
            return files.register(dataFile);
        } catch (NotPublishedException e) {
            if (!stages || !hasLength(dataFile, lengthBytes)) {
                throw e;
            }
            return null;
        }
    }

    private static boolean hasLength(Path dataFile, long lengthBytes) {
        try {
            return Files.size(dataFile) == lengthBytes;
        } catch (IOException e) {
            return false;
        }
    }

    private synchronized MapOutputLocation adopt(
            int shuffleId, long mapId, Path dataFile, RegisteredFile file, long[] partitionLengths)
            throws NotPublishedException {
        if (closed) {
            throw new NotPublishedException(FallbackReason.CLOSED, "the process is ending", null);
        }
        Shuffle shuffle =
                shuffles.computeIfAbsent(shuffleId, id -> new Shuffle(id, new OffsetsRegion(endpoint, offsetsBudget)));
        OffsetsRegion.Row row = appendOffsets(shuffle, partitionLengths);
        long lengthBytes = Arrays.stream(partitionLengths).sum();
        RegisteredFile kept = shuffle.withdrawn ? null : file;
        Output before = shuffle.outputs.put(mapId, new Output(new DataFile(dataFile, lengthBytes), kept));
        if (before != null && before.registered != null) {
            before.registered.close(); // written anew: a decommissioned executor sent it twice
        }
        shuffle.lastUseNanos = System.nanoTime();
        return new MapOutputLocation(
                mapId,
                kept == null ? Placement.STAGED : kept.placement(),
                kept == null ? 0 : kept.address(),
                kept == null ? 0 : kept.rkey(),
                lengthBytes,
                row.address(),
                row.rkey(),
                partitionLengths.length);
    }

    private OffsetsRegion.Row appendOffsets(Shuffle shuffle, long[] partitionLengths) throws NotPublishedException {
        try {
            OffsetsRegion.Row row = shuffle.offsets.append(partitionLengths);
            if (row == null) {
                throw NotPublishedException.overBudget(offsetsBudget, OffsetsRegion.rowBytes(partitionLengths.length));
            }
            return row;
        } catch (VerbsException e) {
            throw new NotPublishedException(FallbackReason.REGISTRATION_FAILED, e.getMessage(), e);
        }
    }

    private static void release(Shuffle shuffle) {
        shuffle.registered().forEach(RegisteredFile::close);
        shuffle.offsets.close();
    }
}
