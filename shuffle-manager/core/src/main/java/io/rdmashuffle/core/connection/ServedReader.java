package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.StagingPool;
import io.rdmashuffle.verbs.AsyncEventType;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsException;
import io.rdmashuffle.verbs.WcStatus;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * One reader that this process serves. READs need no attention, as the device serves them; the reader's requests to stage do, and it
 * is told what is withdrawn. A buffer is free again once the reader released it or its queue pair was destroyed, so that no READ ever
 * finds another request's bytes. Loop thread only.
 */
final class ServedReader implements EventLoop.Handler, MessageChannel.Listener {

    /** What it shares with the other served readers. Times in milliseconds. */
    record Service(
            EventLoop loop,
            Stager stager,
            PinnedBudget messageBudget,
            int handshakeTimeoutMillis,
            int releaseTimeoutMillis,
            Consumer<ServedReader> onClosed,
            Consumer<String> onMisbehaviour) {}

    /** What a lane of the connection is at: nothing, a job of the stager, or a buffer that the reader may READ. */
    private static final class Lane {
        Stager.Job job;
        StagingPool.Buffer buffer;
        EventLoop.Timer deadline;
        int number;
    }

    private final Service service;
    private final VerbsConnection connection;
    private final MessageChannel channel;
    private final EventLoop.Timer handshake;
    private final Lane[] lanes = new Lane[ControlMessage.LANES];
    private final Set<Integer> untold = new LinkedHashSet<>(); // shuffles withdrawn
    private boolean established;
    private boolean mayBeTold;
    private boolean closed;

    /** @throws IOException when there is no memory for its messages; the connection is still the caller's then */
    ServedReader(Service service, VerbsConnection connection) throws IOException {
        this.service = service;
        this.connection = connection;
        this.channel = MessageChannel.open(
                service.loop.endpoint(), service.messageBudget, MessageChannel.OWNER_RECEIVES, this);
        this.handshake = service.loop.schedule(service.handshakeTimeoutMillis, this::close);
        Arrays.setAll(lanes, i -> new Lane());
    }

    /** Lets the reader in; on failure it is closed. */
    void accept(byte[] answer, EventBatch events, int index) throws VerbsException {
        try {
            connection.accept(answer, MessageChannel.SEND_SLOTS, channel.ring(), events, index);
            service.loop.addConnection(connection.id(), this);
            service.loop.addQueuePair(connection.qpNumber(), this);
        } catch (VerbsException e) {
            close();
            throw e;
        }
    }

    long id() {
        return connection.id();
    }

    /** Whether its connection does not stand yet. */
    boolean isShakingHands() {
        return !established;
    }

    /** Tells the reader, as soon as it may be, that the map outputs of these shuffles are about to be deregistered. */
    void tellWithdrawn(Collection<Integer> shuffleIds) {
        untold.addAll(shuffleIds);
        tell();
    }

    @Override
    public void onCmEvent(CmEventType type, EventBatch events, int index) {
        if (type == CmEventType.ESTABLISHED) {
            established = true;
            handshake.cancel();
        } else {
            close();
        }
    }

    @Override
    public void onCompletion(EventBatch events, int index) {
        if (events.status(index) != WcStatus.SUCCESS) {
            close();
            return;
        }
        try {
            channel.onCompletion(connection, events, index);
        } catch (MalformedMessageException e) {
            misbehaves(e.getMessage());
        } catch (VerbsException e) {
            close();
        }
    }

    @Override
    public void onMessage(ControlMessage message) {
        if (message instanceof ControlMessage.Stage stage) {
            stage(stage);
        } else if (message instanceof ControlMessage.Release release) {
            release(release);
        } else if (message instanceof ControlMessage.Hello || message instanceof ControlMessage.Noted) {
            mayBeTold = true;
            tell();
        } else {
            misbehaves("a reader sent " + message.getClass().getSimpleName());
        }
    }

    @Override
    public void onDeviceFailure(AsyncEventType type) {
        close();
    }

    void close() {
        if (closed) {
            return;
        }
        closed = true;
        handshake.cancel();
        service.loop.remove(connection.id(), connection.qpNumber(), this);
        EventLoop.end(connection);
        channel.close();
        for (Lane lane : lanes) {
            if (lane.job != null) {
                lane.job.cancel();
            }
            free(lane);
        }
        service.onClosed.accept(this);
    }

    private void stage(ControlMessage.Stage request) {
        Lane lane = lanes[request.lane()];
        if (lane.job != null || lane.buffer != null) {
            misbehaves("a second request on a lane");
            return;
        }
        lane.number = request.number();
        Stager.Job job = service.stager.stage(request, new Stager.Outcome() {
            @Override
            public void onStaged(StagingPool.Buffer buffer, int lengthBytes) {
                lane.job = null;
                lane.buffer = buffer;
                lane.deadline = service.loop.schedule(service.releaseTimeoutMillis, ServedReader.this::close);
                send(new ControlMessage.Staged(
                        request.lane(), request.number(), buffer.address(), buffer.rkey(), lengthBytes));
            }

            @Override
            public void onRefused(ControlMessage.Refusal refusal) {
                lane.job = null;
                send(new ControlMessage.Refused(request.lane(), request.number(), refusal));
            }
        });
        if (!job.isOver()) {
            lane.job = job;
        }
    }

    private void release(ControlMessage.Release release) {
        Lane lane = lanes[release.lane()];
        if (lane.buffer == null || lane.number != release.number()) {
            misbehaves("a release of what was not staged");
        } else {
            free(lane);
        }
    }

    private void free(Lane lane) {
        if (lane.buffer != null) {
            StagingPool.Buffer buffer = lane.buffer;
            lane.buffer = null;
            lane.deadline.cancel();
            service.stager.giveBack(buffer);
        }
    }

    /** One notice at a time: the reader has one receive for it. */
    private void tell() {
        if (mayBeTold && !untold.isEmpty()) {
            int[] shuffleIds = untold.stream()
                    .limit(ControlMessage.MAX_SHUFFLES)
                    .mapToInt(Integer::intValue)
                    .toArray();
            Arrays.stream(shuffleIds).forEach(untold::remove);
            mayBeTold = false;
            send(new ControlMessage.Withdrawn(shuffleIds));
        }
    }

    private void send(ControlMessage message) {
        try {
            channel.send(connection, message);
        } catch (VerbsException e) {
            close();
        }
    }

    private void misbehaves(String detail) {
        service.onMisbehaviour.accept(detail);
        close();
    }
}
