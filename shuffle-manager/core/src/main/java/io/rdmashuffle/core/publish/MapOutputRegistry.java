package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.memory.OffsetsRegion;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;

/**
 * The map outputs of this process that are readable remotely: maps each committed data file, registers it for REMOTE_READ and
 * nothing else, and appends its offsets to its shuffle's offsets region. Any thread.
 */
public final class MapOutputRegistry implements AutoCloseable {

    private final VerbsEndpoint endpoint;
    private final PinnedBudget budget;
    private final FileRegistrar files;
    private final Counters counters;
    private final Map<Integer, ShuffleOutputs> shuffles = new HashMap<>();
    private final BitSet removed = new BitSet();
    private boolean closed;

    public MapOutputRegistry(VerbsEndpoint endpoint, long maxBytes, Counters counters) {
        this.endpoint = endpoint;
        this.budget = new PinnedBudget(maxBytes);
        this.files = new FileRegistrar(endpoint, budget);
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
        RegisteredFile file = files.register(dataFile);
        try {
            MapOutputLocation location = adopt(shuffleId, mapId, file, partitionLengths);
            counters.add(Counter.REGISTRATION_NANOS, System.nanoTime() - start);
            return location;
        } catch (NotPublishedException e) {
            file.close();
            throw e;
        }
    }

    /** Takes one map output back: it was never announced, or the announcement failed. */
    public void unregister(int shuffleId, long mapId) {
        RegisteredFile file;
        synchronized (this) {
            ShuffleOutputs outputs = shuffles.get(shuffleId);
            file = outputs == null ? null : outputs.files.remove(mapId);
        }
        if (file != null) {
            file.close();
        }
    }

    /** Deregisters all map outputs of a shuffle and refuses later ones: shuffle ids are never used again. */
    public void unregisterShuffle(int shuffleId) {
        ShuffleOutputs outputs;
        synchronized (this) {
            removed.set(shuffleId);
            outputs = shuffles.remove(shuffleId);
        }
        if (outputs != null) {
            release(outputs);
        }
    }

    /** Registered bytes of data files and offsets. */
    public long registeredBytes() {
        return budget.usedBytes();
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            shuffles.values().forEach(this::release);
            shuffles.clear();
        }
    }

    private synchronized MapOutputLocation adopt(
            int shuffleId, long mapId, RegisteredFile file, long[] partitionLengths) throws NotPublishedException {
        if (closed || removed.get(shuffleId)) {
            throw new NotPublishedException(FallbackReason.CLOSED, "shuffle " + shuffleId + " was removed", null);
        }
        ShuffleOutputs outputs = shuffles.computeIfAbsent(
                shuffleId, id -> new ShuffleOutputs(new OffsetsRegion(endpoint, budget), new HashMap<>()));
        OffsetsRegion.Row row = appendOffsets(outputs, partitionLengths);
        outputs.files.put(mapId, file);
        return new MapOutputLocation(
                mapId,
                file.address(),
                file.rkey(),
                file.lengthBytes(),
                row.address(),
                row.rkey(),
                partitionLengths.length);
    }

    private OffsetsRegion.Row appendOffsets(ShuffleOutputs outputs, long[] partitionLengths)
            throws NotPublishedException {
        try {
            OffsetsRegion.Row row = outputs.offsets.append(partitionLengths);
            if (row == null) {
                throw NotPublishedException.overBudget(budget, OffsetsRegion.rowBytes(partitionLengths.length));
            }
            return row;
        } catch (VerbsException e) {
            throw new NotPublishedException(FallbackReason.REGISTRATION_FAILED, e.getMessage(), e);
        }
    }

    private void release(ShuffleOutputs outputs) {
        outputs.files.values().forEach(RegisteredFile::close);
        outputs.offsets.close();
    }

    private record ShuffleOutputs(OffsetsRegion offsets, Map<Long, RegisteredFile> files) {}
}
