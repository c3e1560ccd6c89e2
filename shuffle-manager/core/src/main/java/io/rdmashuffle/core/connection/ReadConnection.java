package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.AsyncEventType;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.ReadBatch;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsException;
import io.rdmashuffle.verbs.WcStatus;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The connection of this process, as reader, to one owner. Made on first use, it goes through address, route and handshake, then
 * posts queued READs in chains of which the last is signaled. An error completion kills the queue pair (InfiniBand specification,
 * 10.3.1), so whatever fails here fails for all READs of the connection: the queue pair is destroyed first, as the fence after
 * which no sink is written any more, and then every task is told. Loop thread only.
 */
final class ReadConnection implements EventLoop.Handler, MessageChannel.Listener, StageLanes.Link {

    /** Told once when the connection is over. */
    interface ClosedListener {
        /** @param unread the tasks that did not end, for the listener to fail or to pass on */
        void onClosed(ReadConnection connection, FallbackReason reason, String detail, List<ReadTask> unread);
    }

    /** What the connection needs to know of the settings. Times in milliseconds. */
    record Limits(int connectTimeoutMillis, int readTimeoutMillis, int sendQueueDepth) {}

    private enum State {
        RESOLVING_ADDRESS,
        RESOLVING_ROUTE,
        CONNECTING,
        ESTABLISHED,
        CLOSED
    }

    /** A posted chain: its last READ is signaled and carries the id. */
    private record Chain(long id, int reads, List<ReadTask> ending, long postedNanos) {}

    private final EventLoop loop;
    private final Route route;
    private final MembershipProof proof;
    private final MembershipProof.Claim claim;
    private final Limits limits;
    private final Control control;
    private final Counters counters;
    private final ClosedListener listener;
    private final ReadBatch batch;
    private final StageLanes lanes;
    private final ArrayDeque<ReadTask> queued = new ArrayDeque<>();
    private final ArrayDeque<Chain> posted = new ArrayDeque<>();
    private State state = State.RESOLVING_ADDRESS;
    private VerbsConnection connection;
    private MessageChannel channel;
    private int qpNumber;
    private EventLoop.Timer stepTimer;
    private int depth; // most READs posted at a time, agreed upon with the peer
    private int freeSlots;
    private boolean hasRead;
    private int nextRead; // of the first queued task
    private long nextChainId;
    private long lastProgressNanos;

    ReadConnection(
            EventLoop loop,
            Route route,
            MembershipProof proof,
            MembershipProof.Claim claim,
            Limits limits,
            Control control,
            Counters counters,
            ClosedListener listener) {
        this.loop = loop;
        this.route = route;
        this.proof = proof;
        this.claim = claim;
        this.limits = limits;
        this.control = control;
        this.counters = counters;
        this.listener = listener;
        this.batch = new ReadBatch(limits.sendQueueDepth);
        this.lanes = new StageLanes(this, loop.endpoint().device().maxMessageBytes());
        this.nextChainId =
                claim.sequence() << 32; // never used by another connection, whose queue pair number may come again
    }

    /** Whether nothing is under way, so that closing it now loses nothing. */
    boolean isIdle() {
        return state == State.ESTABLISHED && queued.isEmpty() && posted.isEmpty() && lanes.isIdle();
    }

    /** Whether it stands, or stood before it was closed. */
    boolean hasStood() {
        return depth > 0;
    }

    /** Whether any READ was served. */
    boolean hasRead() {
        return hasRead;
    }

    /** When a READ was posted or completed last, as {@link System#nanoTime}. */
    long lastUseNanos() {
        return lastProgressNanos;
    }

    /** Begins with the first step. */
    void open() {
        step(() -> {
            connection = loop.endpoint().resolve(route.local(), route.peer(), limits.connectTimeoutMillis);
            loop.addConnection(connection.id(), this);
        });
    }

    /** Queues the READs, to be posted when the connection stands, the owner has staged the bytes and the send queue has room. */
    void submit(ReadTask task) {
        if (task.stagedOutputs() == null) {
            read(task);
        } else {
            lanes.submit(task);
        }
    }

    @Override
    public void read(ReadTask task) {
        queued.add(task);
        if (state == State.ESTABLISHED) {
            post();
        }
    }

    /** Fences and fails everything; nothing happens when it is over already. */
    void close(FallbackReason reason, String detail) {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        stepTimer.cancel();
        if (connection != null) {
            loop.remove(connection.id(), qpNumber, this);
            EventLoop.end(connection);
        }
        if (channel != null) {
            channel.close();
        }
        List<ReadTask> unread = new ArrayList<>();
        posted.forEach(chain -> unread.addAll(chain.ending));
        unread.addAll(queued);
        unread.removeIf(StageLanes::isPiece);
        unread.addAll(lanes.close());
        posted.clear();
        queued.clear();
        listener.onClosed(this, reason, detail, unread);
    }

    @Override
    public void onCmEvent(CmEventType type, EventBatch events, int index) {
        switch (type) {
            case ADDR_RESOLVED ->
                advance(
                        State.RESOLVING_ADDRESS,
                        State.RESOLVING_ROUTE,
                        () -> connection.resolveRoute(limits.connectTimeoutMillis));
            case ROUTE_RESOLVED -> advance(State.RESOLVING_ROUTE, State.CONNECTING, this::connect);
            case ESTABLISHED -> established(events, index);
            case REJECTED -> close(FallbackReason.CONNECT_REJECTED, "status " + events.cmStatus(index));
            case ADDR_ERROR,
                    ROUTE_ERROR,
                    CONNECT_ERROR,
                    UNREACHABLE, // also of a connection that stands, when the peer's link address changes (Linux 6.0)
                    DISCONNECTED,
                    DEVICE_REMOVAL,
                    ADDR_CHANGE,
                    TIMEWAIT_EXIT -> close(lost(), type + ", status " + events.cmStatus(index));
            case CONNECT_REQUEST, CONNECT_RESPONSE, MULTICAST_JOIN, MULTICAST_ERROR, UNKNOWN -> {
                // of no concern to a reader
            }
        }
    }

    @Override
    public void onCompletion(EventBatch events, int index) {
        if (events.status(index) != WcStatus.SUCCESS) {
            onFailedCompletion(events, index);
            return;
        }
        if (MessageChannel.isOfMessage(events, index)) {
            takeMessage(events, index);
            return;
        }
        long id = events.wrId(index);
        if (posted.isEmpty() || posted.peek().id != id) {
            return; // of an earlier queue pair with the same number
        }
        hasRead = true;
        Chain chain = posted.poll();
        freeSlots += chain.reads;
        lastProgressNanos = System.nanoTime();
        counters.addReadLatency(lastProgressNanos - chain.postedNanos);
        post();
        chain.ending.forEach(task -> EventLoop.guarded(task::onDone));
    }

    /** The first failure is the cause; the flushed ones after it find the connection closed. */
    private void onFailedCompletion(EventBatch events, int index) {
        String detail = events.status(index) + ", vendor error " + events.vendorError(index);
        if (!events.isReceive(index)) {
            close(FallbackReason.READ_FAILED, detail);
        } else if (state == State.ESTABLISHED) {
            close(FallbackReason.CONNECTION_LOST, detail);
        } // else the connection manager's event, which is on its way, says what happened
    }

    @Override
    public void onMessage(ControlMessage message) {
        if (message instanceof ControlMessage.Staged staged) {
            lanes.onStaged(staged);
        } else if (message instanceof ControlMessage.Refused refused) {
            lanes.onRefused(refused);
        } else if (message instanceof ControlMessage.Withdrawn withdrawn) {
            send(new ControlMessage.Noted());
            for (int shuffleId : withdrawn.shuffleIds()) {
                control.withdrawn().onWithdrawn(claim.ownerIncarnation(), shuffleId);
            }
        } else {
            onMisbehaviour("an owner sent " + message.getClass().getSimpleName());
        }
    }

    @Override
    public void send(ControlMessage message) {
        try {
            channel.send(connection, message);
        } catch (VerbsException e) {
            close(lost(), e.getMessage());
        }
    }

    @Override
    public void onMisbehaviour(String detail) {
        close(FallbackReason.CONNECTION_LOST, detail);
    }

    private void takeMessage(EventBatch events, int index) {
        try {
            channel.onCompletion(connection, events, index);
        } catch (VerbsException e) {
            close(lost(), e.getMessage());
        } catch (MalformedMessageException e) {
            onMisbehaviour(e.getMessage());
        }
    }

    @Override
    public void onDeviceFailure(AsyncEventType type) {
        close(lost(), type.toString());
    }

    private FallbackReason lost() {
        return state == State.ESTABLISHED ? FallbackReason.CONNECTION_LOST : FallbackReason.CONNECT_FAILED;
    }

    private void connect() throws IOException {
        channel = MessageChannel.open(loop.endpoint(), control.messageBudget(), MessageChannel.READER_RECEIVES, this);
        int queueDepth = limits.sendQueueDepth + MessageChannel.SEND_SLOTS;
        connection.connect(proof.request(claim), queueDepth, channel.ring());
        qpNumber = connection.qpNumber();
        loop.addQueuePair(qpNumber, this);
    }

    private void established(EventBatch events, int index) {
        if (state != State.CONNECTING) {
            return;
        }
        if (!proof.verifyAnswer(events.cmPrivateData(index), claim)) {
            close(FallbackReason.CONNECT_REJECTED, "the peer did not prove that it belongs to this application");
            return;
        }
        depth = Math.min(limits.sendQueueDepth, agreedReadDepth(events, index));
        if (depth == 0) {
            close(FallbackReason.CONNECT_FAILED, "the devices agreed upon a READ depth of 0");
            return;
        }
        freeSlots = depth;
        stepTimer.cancel();
        state = State.ESTABLISHED;
        counters.add(Counter.CONNECTIONS, 1);
        lastProgressNanos = System.nanoTime();
        watchProgress();
        send(new ControlMessage.Hello());
        lanes.open();
        post();
    }

    /** The kernel gives iWARP's two values the other way round (cma_iw_handler in cma.c); we ask for the same both ways. */
    private static int agreedReadDepth(EventBatch events, int index) {
        return Math.min(events.initiatorDepth(index), events.responderResources(index));
    }

    private interface Step {
        void run() throws IOException;
    }

    private void advance(State from, State to, Step step) {
        if (state == from) {
            stepTimer.cancel();
            state = to;
            step(step);
        }
    }

    private void step(Step step) {
        stepTimer = loop.schedule(
                limits.connectTimeoutMillis, () -> close(FallbackReason.CONNECT_FAILED, "no answer while " + state));
        try {
            step.run();
        } catch (IOException e) {
            close(FallbackReason.CONNECT_FAILED, e.getMessage());
        }
    }

    /** Silence is a failure too: a peer may die without a completion or an event. */
    private void watchProgress() {
        stepTimer = loop.schedule(Math.max(1, limits.readTimeoutMillis / 4), () -> {
            long nowNanos = System.nanoTime();
            long idleMillis = TimeUnit.NANOSECONDS.toMillis(nowNanos - lastProgressNanos);
            if (lanes.hasWaitedSince(nowNanos - TimeUnit.MILLISECONDS.toNanos(limits.readTimeoutMillis))) {
                close(FallbackReason.READ_TIMEOUT, "the owner did not answer");
            } else if (!posted.isEmpty() && idleMillis >= limits.readTimeoutMillis) {
                close(FallbackReason.READ_TIMEOUT, "none for " + idleMillis + " ms");
            } else {
                watchProgress();
            }
        });
    }

    /** Posts as many READs as the agreed depth allows, in chains of half of it, so that one is under way while the next is posted. */
    private void post() {
        while (state == State.ESTABLISHED && !queued.isEmpty() && freeSlots > 0) {
            postChain();
        }
    }

    private void postChain() {
        List<ReadTask> ending = fillBatch();
        long nowNanos = System.nanoTime();
        try {
            int taken = connection.post(batch, 0, batch.size());
            if (posted.isEmpty()) {
                lastProgressNanos = nowNanos;
            }
            posted.add(new Chain(nextChainId++, batch.size(), ending, nowNanos));
            freeSlots -= batch.size();
            if (taken < batch.size()) {
                close(FallbackReason.READ_FAILED, "the send queue took " + taken + " of " + batch.size() + " READs");
            }
        } catch (VerbsException e) {
            posted.add(new Chain(nextChainId++, 0, ending, nowNanos));
            close(FallbackReason.READ_FAILED, e.getMessage());
        }
    }

    /** Moves READs from the queued tasks into the batch; answers the tasks whose last READ is among them. */
    private List<ReadTask> fillBatch() {
        List<ReadTask> ending = new ArrayList<>();
        int longest = Math.min(freeSlots, Math.max(1, depth / 2));
        batch.clear();
        while (!queued.isEmpty() && batch.size() < longest) {
            ReadTask task = queued.peek();
            int read = nextRead++;
            boolean endsTask = read + 1 == task.size();
            if (endsTask) {
                ending.add(queued.poll());
                nextRead = 0;
            }
            boolean endsChain = batch.size() + 1 == longest || queued.isEmpty();
            batch.add(
                    nextChainId,
                    task.localAddress(read),
                    task.lkey(),
                    task.remoteAddress(read),
                    task.rkey(read),
                    task.lengthBytes(read),
                    endsChain);
        }
        return ending;
    }
}
