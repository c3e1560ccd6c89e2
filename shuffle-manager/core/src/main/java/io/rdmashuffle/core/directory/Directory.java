package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.Snapshot;
import java.lang.ref.SoftReference;
import java.security.SecureRandom;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's table of what can be read where, the application's secret, and what executors report. A shuffle's answer is encoded
 * once and handed out until something changes. Any thread.
 */
public final class Directory {

    private static final Logger LOG = LoggerFactory.getLogger(Directory.class);
    /** Of shuffles removed earlier, no task is at work any more. */
    private static final int MAX_REMOVED = 10_000;

    private static final int SECRET_BYTES = 32;
    private static final SoftReference<byte[]> NOT_ENCODED = new SoftReference<>(null);

    /** The map outputs of one shuffle, and the encoded answer while it is true and memory is not short. */
    private static final class Shuffle {
        final LocationTable outputs = new LocationTable();
        final Set<Long> unpinned = new HashSet<>(); // owners
        SoftReference<byte[]> encoded = NOT_ENCODED;
    }

    private final byte[] secret = new byte[SECRET_BYTES];
    private final Map<Long, Message.Hello> executors = new LinkedHashMap<>();
    private final Map<Long, Snapshot> reports = new HashMap<>();
    private final Map<Integer, Shuffle> shuffles = new HashMap<>();
    private final Counters counters = new Counters();
    private long lastTask = -1;

    /** Shuffles removed of late, and the last task that had been started by then. */
    private final Map<Integer, Long> removed = new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, Long> eldest) {
            return size() > MAX_REMOVED;
        }
    };

    public Directory() {
        new SecureRandom().nextBytes(secret);
    }

    /**
     * Handles one message of an executor.
     *
     * @return the encoded answer; null for a message that has none
     * @throws MalformedMessageException when the bytes are no message for the directory; it is counted, and the first one logged
     */
    public byte[] handle(byte[] bytes) throws MalformedMessageException {
        try {
            return answer(bytes);
        } catch (MalformedMessageException e) {
            counters.add(Counter.REFUSED_MESSAGES, 1);
            if (counters.get(Counter.REFUSED_MESSAGES) == 1) { // whoever sends nonsense shall not fill the log as well
                LOG.warn("RDMA shuffle: the directory got {}", e.getMessage());
            }
            throw e;
        }
    }

    private byte[] answer(byte[] bytes) throws MalformedMessageException {
        Message message = MessageCodec.decode(bytes);
        if (message instanceof Message.Locate locate) {
            return locate(locate.shuffleId());
        }
        Message answer = handle(message);
        return answer == null ? null : MessageCodec.encode(answer);
    }

    /** A task of the engine was started; ids rise, and are the map ids of what the task publishes. */
    public synchronized void taskStarted(long taskId) {
        lastTask = Math.max(lastTask, taskId);
    }

    /**
     * Forgets what was published of a shuffle. Spark may have it made again under the same id, by tasks started from now on; what one
     * started before publishes late is refused, as nobody would remove it.
     */
    public synchronized void removeShuffle(int shuffleId) {
        removed.put(shuffleId, lastTask);
        shuffles.remove(shuffleId);
    }

    /** Forgets what a lost executor had published. What it had reported stays. */
    public synchronized void removeExecutor(String executorId) {
        List<Long> lives = executors.values().stream()
                .filter(hello -> hello.executorId().equals(executorId))
                .map(Message.Hello::incarnation)
                .toList();
        lives.forEach(life -> reports.computeIfPresent(life, (incarnation, report) -> report.ended()));
        for (Shuffle shuffle : shuffles.values()) {
            for (long life : lives) {
                if (shuffle.outputs.removeOwner(life)) {
                    shuffle.encoded = NOT_ENCODED;
                }
            }
        }
    }

    /** All executors that ever introduced themselves, in that order. */
    public synchronized Collection<Message.Hello> executors() {
        return List.copyOf(executors.values());
    }

    /** What each executor that ever introduced itself has reported last, by incarnation. */
    public synchronized Map<Long, Snapshot> reports() {
        return Map.copyOf(reports);
    }

    /** The directory's own figures. */
    public Snapshot figures() {
        return counters.snapshot();
    }

    /** Map outputs that are published now, of all shuffles. */
    public synchronized int publishedOutputs() {
        return shuffles.values().stream()
                .mapToInt(shuffle -> shuffle.outputs.size())
                .sum();
    }

    private synchronized Message handle(Message message) throws MalformedMessageException {
        if (message instanceof Message.Hello hello) {
            executors.put(hello.incarnation(), hello);
            return new Message.Welcome(secret);
        }
        if (message instanceof Message.Publish publish) {
            return new Message.Ack(publish(publish));
        }
        if (message instanceof Message.Withdraw withdraw) {
            withdraw(withdraw);
            return null;
        }
        if (message instanceof Message.Unpin unpin) {
            unpin(unpin);
            return null;
        }
        if (message instanceof Message.Report report) {
            reports.put(report.incarnation(), Snapshot.of(report.counters()));
            return null;
        }
        throw new MalformedMessageException(
                "not for the directory: " + message.getClass().getSimpleName(), null);
    }

    private boolean publish(Message.Publish publish) {
        Message.Hello hello = executors.get(publish.incarnation());
        boolean late = publish.location().mapId() <= removed.getOrDefault(publish.shuffleId(), -1L);
        if (hello == null || hello.owner() == null || late) {
            return false;
        }
        Shuffle shuffle = shuffles.computeIfAbsent(publish.shuffleId(), id -> new Shuffle());
        MapOutputLocation location = shuffle.unpinned.contains(publish.incarnation())
                ? publish.location().staged()
                : publish.location();
        shuffle.encoded = NOT_ENCODED;
        return shuffle.outputs.put(hello.owner(), location);
    }

    private void withdraw(Message.Withdraw withdraw) {
        Shuffle shuffle = shuffles.get(withdraw.shuffleId());
        if (shuffle != null && shuffle.outputs.remove(withdraw.mapId(), withdraw.incarnation())) {
            shuffle.encoded = NOT_ENCODED;
        }
    }

    private void unpin(Message.Unpin unpin) {
        Shuffle shuffle = shuffles.computeIfAbsent(unpin.shuffleId(), id -> new Shuffle());
        shuffle.unpinned.add(unpin.incarnation());
        shuffle.outputs.stage(unpin.incarnation());
        shuffle.encoded = NOT_ENCODED;
    }

    private synchronized byte[] locate(int shuffleId) {
        Shuffle shuffle = shuffles.get(shuffleId);
        if (shuffle == null) {
            return MessageCodec.encode(new Message.Locations(new LocationTable()));
        }
        byte[] encoded = shuffle.encoded.get();
        if (encoded == null) {
            encoded = MessageCodec.encode(new Message.Locations(shuffle.outputs));
            shuffle.encoded = new SoftReference<>(encoded);
        }
        return encoded;
    }
}
