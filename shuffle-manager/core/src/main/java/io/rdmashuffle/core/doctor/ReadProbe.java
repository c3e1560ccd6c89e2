package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.Connections;
import io.rdmashuffle.core.connection.Control;
import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.SingleRead;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.memory.SinkPool;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.NativeMemory;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One end of the data path, made of the classes that executors use: it serves a block of random bytes to whoever has the secret, and
 * reads such a block from another end or from itself. Owns everything but the endpoint. Any thread, one READ at a time.
 */
final class ReadProbe implements AutoCloseable {

    static final int BYTES = 4096;

    private static final String PREFIX = "doctor.";
    private static final RdmaConfig CONFIG =
            new RdmaConfig(PREFIX, Map.of(PREFIX + "read.timeout", "10s", PREFIX + "quarantine", "0ms"));
    private static final int LONGEST_SECONDS = 90; // three steps to connect, then the READ

    private final String name;
    private final VerbsEndpoint endpoint;
    private final long incarnation = new SecureRandom().nextLong();
    private final EventLoop loop;
    private final Connections connections;
    private final NativeMemory memory;
    private final MemoryRegion region;
    private final SinkPool sinks;
    private final byte[] content = new byte[BYTES];

    /**
     * What a reader must know: who serves, where the block lies, what it says.
     *
     * @param rkey works on connections of the secret's holders only; kept out of logs all the same
     */
    record Target(Owner owner, long address, int rkey, byte[] content) {
        @Override
        public String toString() {
            return "Target[" + owner.label() + "]";
        }
    }

    /** A READ that did not succeed. */
    static final class ReadFailure extends Exception {

        private static final long serialVersionUID = 1L;

        private final FallbackReason reason;

        ReadFailure(FallbackReason reason, String detail) {
            super(reason + (detail.isEmpty() ? "" : ": " + detail));
            this.reason = reason;
        }

        FallbackReason reason() {
            return reason;
        }
    }

    /**
     * @param name how the peer's messages call this end
     * @param local the endpoint's own address
     * @throws VerbsException when memory cannot be registered; nothing is left behind then
     */
    ReadProbe(String name, VerbsEndpoint endpoint, LocalAddress local, byte[] secret) throws VerbsException {
        this.name = name;
        this.endpoint = endpoint;
        new SecureRandom().nextBytes(content);
        memory = NativeMemory.allocate(BYTES);
        memory.buffer(0, BYTES).put(content);
        try {
            region = endpoint.register(memory.address(), BYTES, Access.REMOTE_READ);
        } catch (VerbsException e) {
            memory.close();
            throw e;
        }
        loop = new EventLoop(endpoint);
        Control control = Control.withoutStaging(endpoint, new PinnedBudget(1 << 20));
        connections = new Connections(
                loop, List.of(local), Examination.CQ_ENTRIES, incarnation, secret, control, CONFIG, new Counters());
        sinks = new SinkPool(endpoint, new PinnedBudget(1 << 20), () -> {});
        connections.start();
    }

    /** What this end serves. */
    Target target() {
        Owner self = new Owner(name, incarnation, List.of(endpoint.listenAddress()));
        return new Target(self, memory.address(), region.rkey(), content);
    }

    /** Reads the block over an authenticated connection, which it makes the first time, and compares it. Answers nanoseconds. */
    long readNanos(Target target) throws ReadFailure, VerbsException {
        Sink sink = sinks.tryAllocate(BYTES);
        try {
            long start = System.nanoTime();
            long end = await(read(target, sink));
            byte[] read = new byte[BYTES];
            sink.view(0, BYTES).get(read);
            if (!Arrays.equals(read, target.content)) {
                throw new ReadFailure(FallbackReason.READ_FAILED, "it brought other bytes than the peer serves");
            }
            return end - start;
        } finally {
            sink.release();
        }
    }

    @Override
    public void close() {
        connections.close();
        sinks.close();
        region.close();
        memory.close();
    }

    private CompletableFuture<Long> read(Target target, Sink sink) {
        CompletableFuture<Long> done = new CompletableFuture<>();
        sink.view(0, BYTES).put(new byte[BYTES]);
        loop.submit(() -> connections.asReader().submit(target.owner, new OneRead(target, sink, done)));
        return done;
    }

    private static long await(CompletableFuture<Long> done) throws ReadFailure {
        try {
            return done.get(LONGEST_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw (ReadFailure) e.getCause();
        } catch (TimeoutException e) {
            throw new ReadFailure(FallbackReason.READ_TIMEOUT, "no answer in " + LONGEST_SECONDS + " s");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ReadFailure(FallbackReason.CLOSED, "interrupted");
        }
    }

    private static final class OneRead extends SingleRead {

        private final CompletableFuture<Long> done;

        OneRead(Target target, Sink sink, CompletableFuture<Long> done) {
            super(sink, target.address, target.rkey, BYTES);
            this.done = done;
        }

        @Override
        public void onDone() {
            done.complete(System.nanoTime());
        }

        @Override
        public void onFailed(FallbackReason reason, String detail) {
            done.completeExceptionally(new ReadFailure(reason, detail));
        }
    }
}
