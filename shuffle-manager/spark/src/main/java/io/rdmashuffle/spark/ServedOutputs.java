package io.rdmashuffle.spark;

import com.sun.management.UnixOperatingSystemMXBean;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The map outputs that are served from memory, up to a number of bytes of offsets and a share of the file descriptors. When that is
 * reached the shuffle that was not asked for the longest gives way. Any thread.
 */
final class ServedOutputs implements ServedOutput.OpenFiles, AutoCloseable {

    private static final long MAX_OPEN_FILES = 4096;
    private static final int SHARE_OF_DESCRIPTORS = 8;

    private static final class Shuffle {
        final int id;
        final Map<Long, ServedOutput> outputs = new ConcurrentHashMap<>();
        volatile long lastUseNanos;

        Shuffle(int id) {
            this.id = id;
        }
    }

    private final long maxBytes;
    private final long maxOpenFiles = maxOpenFiles();
    private final Map<Integer, Shuffle> shuffles = new ConcurrentHashMap<>();
    private final AtomicInteger openFiles = new AtomicInteger();
    private long bytes;

    ServedOutputs(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    /** Null when it is not kept. */
    ServedOutput find(int shuffleId, long mapId) {
        Shuffle shuffle = shuffles.get(shuffleId);
        if (shuffle == null) {
            return null;
        }
        shuffle.lastUseNanos = System.nanoTime();
        return shuffle.outputs.get(mapId);
    }

    /**
     * Reads an index file whole and keeps it.
     *
     * @return null when there is no room for it
     * @throws IOException when it cannot be read, or is none
     */
    ServedOutput load(int shuffleId, long mapId, File index, File data) throws IOException {
        if (index.length() > maxBytes) {
            return null;
        }
        long[] offsets = IndexFile.offsets(Files.readAllBytes(index.toPath()));
        return keep(shuffleId, mapId, new ServedOutput(data, offsets, this));
    }

    synchronized void remove(int shuffleId, long mapId) {
        Shuffle shuffle = shuffles.get(shuffleId);
        ServedOutput output = shuffle == null ? null : shuffle.outputs.remove(mapId);
        if (output != null) {
            drop(output);
            shuffles.computeIfPresent(shuffleId, (id, left) -> left.outputs.isEmpty() ? null : left);
        }
    }

    @Override
    public boolean tryTake() {
        if (openFiles.incrementAndGet() <= maxOpenFiles) {
            return true;
        }
        openFiles.decrementAndGet();
        return false;
    }

    @Override
    public void giveBack() {
        openFiles.decrementAndGet();
    }

    @Override
    public synchronized void close() {
        shuffles.values().forEach(shuffle -> shuffle.outputs.values().forEach(this::drop));
        shuffles.clear();
    }

    private synchronized ServedOutput keep(int shuffleId, long mapId, ServedOutput output) {
        while (bytes + output.offsetsBytes() > maxBytes) {
            if (!dropColdest(shuffleId)) {
                return null;
            }
        }
        Shuffle shuffle = shuffles.computeIfAbsent(shuffleId, Shuffle::new);
        shuffle.lastUseNanos = System.nanoTime();
        ServedOutput before = shuffle.outputs.putIfAbsent(mapId, output);
        if (before != null) {
            return before;
        }
        bytes += output.offsetsBytes();
        return output;
    }

    private boolean dropColdest(int exceptShuffleId) {
        long now = System.nanoTime();
        Shuffle coldest = shuffles.values().stream()
                .filter(shuffle -> shuffle.id != exceptShuffleId)
                .max(Comparator.comparingLong(shuffle -> now - shuffle.lastUseNanos))
                .orElse(null);
        if (coldest == null) {
            return false;
        }
        shuffles.remove(coldest.id);
        coldest.outputs.values().forEach(this::drop);
        return true;
    }

    private void drop(ServedOutput output) {
        bytes -= output.offsetsBytes();
        output.close();
    }

    private static long maxOpenFiles() {
        long limit = ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean system
                ? system.getMaxFileDescriptorCount()
                : 0;
        return Math.min(MAX_OPEN_FILES, limit / SHARE_OF_DESCRIPTORS);
    }
}
