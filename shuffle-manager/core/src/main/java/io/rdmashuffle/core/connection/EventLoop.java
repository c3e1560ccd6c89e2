package io.rdmashuffle.core.connection;

import io.rdmashuffle.verbs.AsyncEventType;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.FailureScope;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread of a process that drives RDMA: it drains the completion queue, takes connection-manager events, runs submitted
 * work and timers. Whatever it owns (connections, requests under way, caches) is touched by this thread only, so there are no
 * locks. An exception of a handler is logged and ends that handler only.
 */
public final class EventLoop implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(EventLoop.class);
    private static final int MAX_COMPLETIONS = 256;
    private static final int MAX_CM_EVENTS = 32;
    private static final int MAX_SLEEP_MILLIS = 10_000;
    /** About what it costs to be put to sleep and woken, and longer than a READ of some KiB takes on a device. */
    private static final int SPIN_MICROS = 20;

    /** A connection, as the loop sees it. Called on the loop thread. */
    interface Handler {
        void onCompletion(EventBatch events, int index);

        void onCmEvent(CmEventType type, EventBatch events, int index);

        /** The device or its port failed. */
        void onDeviceFailure(AsyncEventType type);
    }

    /** Takes connect requests. Called on the loop thread. */
    interface RequestHandler {
        void onConnectRequest(EventBatch events, int index);
    }

    /** Work to be done once at a time; any thread may cancel it. */
    public static final class Timer {
        private final long deadlineNanos;
        private final Runnable work;
        private volatile boolean cancelled;

        private Timer(long deadlineNanos, Runnable work) {
            this.deadlineNanos = deadlineNanos;
            this.work = work;
        }

        public void cancel() {
            cancelled = true;
        }
    }

    private final VerbsEndpoint endpoint;
    private final EventBatch events = new EventBatch(MAX_COMPLETIONS, MAX_CM_EVENTS);
    private final ConcurrentLinkedQueue<Runnable> submitted = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean wakeSent = new AtomicBoolean();
    private final PriorityQueue<Timer> timers =
            new PriorityQueue<>(Comparator.comparingLong(timer -> timer.deadlineNanos));
    private final Map<Long, Handler> byConnection = new HashMap<>();
    private final Map<Integer, Handler> byQueuePair = new HashMap<>();
    private final Thread thread = new Thread(this::run, "rdma-shuffle-loop");
    private RequestHandler requestHandler;
    private volatile boolean closing;
    private volatile boolean ended;

    public EventLoop(VerbsEndpoint endpoint) {
        this.endpoint = endpoint;
        thread.setDaemon(true);
    }

    /** Starts the thread; connect requests that came before wait in the listener's backlog. */
    void start(RequestHandler handler) {
        requestHandler = handler;
        thread.start();
    }

    public VerbsEndpoint endpoint() {
        return endpoint;
    }

    /**
     * Runs the work on the loop thread, in the order of submission. After the loop has ended it runs on the submitting thread, one
     * at a time, so that whoever waits for an outcome gets one. Any thread.
     */
    public void submit(Runnable work) {
        submitted.add(work);
        if (ended) {
            runSubmitted();
        } else if (wakeSent.compareAndSet(false, true)) {
            endpoint.wake();
        }
    }

    /** Whether nothing can be read or connected any more. */
    public boolean hasEnded() {
        return ended;
    }

    /** Runs the work on the loop thread after a delay. Loop thread only. */
    public Timer schedule(long delayMillis, Runnable work) {
        Timer timer = new Timer(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delayMillis), work);
        timers.add(timer);
        return timer;
    }

    void addConnection(long connectionId, Handler handler) {
        byConnection.put(connectionId, handler);
    }

    void addQueuePair(int qpNumber, Handler handler) {
        byQueuePair.put(qpNumber, handler);
    }

    void remove(long connectionId, int qpNumber, Handler handler) {
        byConnection.remove(connectionId);
        byQueuePair.remove(qpNumber, handler);
    }

    /** Tells the peer if it can be told, then destroys queue pair and id: afterwards nothing is read or written any more. */
    static void end(VerbsConnection connection) {
        try {
            connection.disconnect();
        } catch (VerbsException
                | IllegalStateException e) { // not connected yet, or not any more; or the endpoint is closed
            LOG.debug("disconnect: {}", e.getMessage());
        }
        connection.close();
    }

    /** Ends the thread after the work submitted before. Any thread but the loop's. */
    @Override
    public void close() {
        submit(() -> closing = true);
        try {
            thread.join(TimeUnit.SECONDS.toMillis(10));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            while (!closing) {
                endpoint.poll(events, sleepMillis(), SPIN_MICROS);
                dispatchCompletions();
                dispatchCmEvents();
                dispatchAsyncEvents();
                runTimers();
                runSubmitted();
            }
        } catch (VerbsException e) {
            LOG.error("RDMA shuffle: the event loop cannot poll and ends; blocks are read over TCP from here on", e);
        } finally {
            ended = true;
            tellAll(AsyncEventType.UNKNOWN);
            runSubmitted();
        }
    }

    private int sleepMillis() {
        if (!submitted.isEmpty()) {
            return 0;
        }
        Timer next = timers.peek();
        if (next == null) {
            return MAX_SLEEP_MILLIS;
        }
        long nanos = Math.max(0, next.deadlineNanos - System.nanoTime());
        return (int) Math.min(MAX_SLEEP_MILLIS, TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
    }

    private void dispatchCompletions() {
        for (int i = 0; i < events.completions(); i++) {
            Handler handler = byQueuePair.get(events.qpNumber(i));
            int index = i;
            if (handler != null) {
                guarded(() -> handler.onCompletion(events, index));
            }
        }
    }

    private void dispatchCmEvents() {
        for (int i = 0; i < events.cmEvents(); i++) {
            CmEventType type = events.cmType(i);
            int index = i;
            if (type == CmEventType.CONNECT_REQUEST) {
                guarded(() -> requestHandler.onConnectRequest(events, index));
                continue;
            }
            Handler handler = byConnection.get(events.cmId(i));
            if (handler != null) {
                guarded(() -> handler.onCmEvent(type, events, index));
            }
        }
    }

    private void dispatchAsyncEvents() {
        for (int i = 0; i < events.asyncEvents(); i++) {
            AsyncEventType type = events.asyncType(i);
            if (type.scope() == FailureScope.DEVICE) {
                LOG.warn("RDMA shuffle: device {} reports {}", endpoint.device().name(), type);
                tellAll(type);
            }
        }
    }

    private void tellAll(AsyncEventType type) {
        new ArrayList<>(byConnection.values()).forEach(handler -> guarded(() -> handler.onDeviceFailure(type)));
    }

    private void runTimers() {
        while (!timers.isEmpty() && timers.peek().deadlineNanos <= System.nanoTime()) {
            Timer timer = timers.poll();
            if (!timer.cancelled) {
                guarded(timer.work);
            }
        }
    }

    private synchronized void runSubmitted() {
        wakeSent.set(false);
        Runnable work;
        while ((work = submitted.poll()) != null) {
            guarded(work);
        }
    }

    /** Runs the work; whatever it throws is logged and goes no further: no handler may end the thread that serves all. */
    static void guarded(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException | Error e) {
            LOG.error("RDMA shuffle: a handler of the event loop failed", e);
        }
    }
}
