package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.memory.SinkPool;
import io.rdmashuffle.verbs.VerbsException;
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Hands out sinks in the order of asking and lets those wait for whom there is none, each for a limited time: who waits may be the
 * very task whose consumption would free a sink. Loop thread only, but for {@link #onRelease}.
 */
final class SinkAllocator {

    /** Who wants a sink. Told exactly once. */
    interface Applicant {
        /** The sink comes with one reference, which is the applicant's. */
        void onSink(Sink sink);

        void onNoSink(String detail);
    }

    private static final String CLOSED = "the process is ending";

    private record Waiting(long bytes, Applicant applicant, EventLoop.Timer deadline) {}

    private final EventLoop loop;
    private final SinkPool pool;
    private final long maxWaitMillis;
    private final ArrayDeque<Waiting> queue = new ArrayDeque<>();
    private final AtomicBoolean serving = new AtomicBoolean();
    private boolean closed;

    SinkAllocator(EventLoop loop, SinkPool pool, long maxWaitMillis) {
        this.loop = loop;
        this.pool = pool;
        this.maxWaitMillis = maxWaitMillis;
    }

    void allocate(long bytes, Applicant applicant) {
        if (closed) {
            applicant.onNoSink(CLOSED);
        } else if (!pool.canEverHold(bytes)) {
            applicant.onNoSink(bytes + " bytes are more than the pool may hold");
        } else if (!queue.isEmpty() || !tryServe(bytes, applicant)) {
            queue.add(waiting(bytes, applicant));
        }
    }

    /** A sink came back. Any thread. */
    void onRelease() {
        if (serving.compareAndSet(false, true)) {
            loop.submit(this::serve);
        }
    }

    /** Turns away all who wait and who come. */
    void close() {
        closed = true;
        while (!queue.isEmpty()) {
            queue.poll().applicant.onNoSink(CLOSED);
        }
    }

    private void serve() {
        serving.set(false);
        while (!queue.isEmpty() && tryServe(queue.peek().bytes, queue.peek().applicant)) {
            queue.poll().deadline.cancel();
        }
    }

    private boolean tryServe(long bytes, Applicant applicant) {
        try {
            Sink sink = pool.tryAllocate(bytes);
            if (sink != null) {
                applicant.onSink(sink);
            }
            return sink != null;
        } catch (VerbsException e) {
            applicant.onNoSink(e.getMessage());
            return true;
        }
    }

    private Waiting waiting(long bytes, Applicant applicant) {
        Waiting[] self = new Waiting[1];
        self[0] = new Waiting(bytes, applicant, loop.schedule(maxWaitMillis, () -> {
            if (queue.remove(self[0])) {
                applicant.onNoSink("none of " + bytes + " bytes within " + maxWaitMillis + " ms");
            }
        }));
        return self[0];
    }
}
