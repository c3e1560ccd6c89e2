package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The reader's side of staging on one connection: takes tasks whose map outputs are not registered, asks the owner for as many of
 * their bytes as one message can name, READs what it staged, releases it and goes on with the rest, several tasks at a time. Loop
 * thread only.
 */
final class StageLanes {

    /** What the lanes need of their connection. */
    interface Link {
        void send(ControlMessage message);

        /** Queues READs of registered memory. */
        void read(ReadTask task);

        /** The peer does not keep to the protocol. */
        void onMisbehaviour(String detail);
    }

    private final Link link;
    private final long maxMessageBytes;
    private final Lane[] lanes = new Lane[ControlMessage.LANES];
    private final ArrayDeque<ReadTask> queued = new ArrayDeque<>();
    private boolean open;

    /** @param maxMessageBytes longest READ of the device */
    StageLanes(Link link, long maxMessageBytes) {
        this.link = link;
        this.maxMessageBytes = maxMessageBytes;
        Arrays.setAll(lanes, Lane::new);
    }

    void submit(ReadTask task) {
        queued.add(task);
        fill();
    }

    /** The connection stands. */
    void open() {
        open = true;
        fill();
    }

    /** Ends; answers the tasks that have not ended. */
    List<ReadTask> close() {
        open = false;
        List<ReadTask> tasks = new ArrayList<>();
        for (Lane lane : lanes) {
            if (lane.task != null) {
                tasks.add(lane.task);
            }
            lane.task = null;
        }
        tasks.addAll(queued);
        queued.clear();
        return tasks;
    }

    /** Whether the task is a part of another one, which {@link #close} answers. */
    static boolean isPiece(ReadTask task) {
        return task instanceof StagedRead;
    }

    boolean isIdle() {
        return queued.isEmpty() && Arrays.stream(lanes).allMatch(lane -> lane.task == null);
    }

    /** Whether a question was asked before that time and not answered. */
    boolean hasWaitedSince(long nanos) {
        return Arrays.stream(lanes).anyMatch(lane -> lane.askedBytes > 0 && lane.askedNanos - nanos <= 0);
    }

    void onStaged(ControlMessage.Staged staged) {
        Lane lane = lanes[staged.lane()];
        if (lane.isAnswer(staged.number()) && staged.lengthBytes() <= lane.askedBytes) {
            lane.read(staged);
        } else {
            link.onMisbehaviour("staged what was not asked for");
        }
    }

    void onRefused(ControlMessage.Refused refused) {
        Lane lane = lanes[refused.lane()];
        if (lane.isAnswer(refused.number())) {
            lane.end()
                    .onFailed(FallbackReason.STAGING_REFUSED, refused.refusal().toString());
            fill();
        } else {
            link.onMisbehaviour("refused what was not asked for");
        }
    }

    private void fill() {
        for (Lane lane : lanes) {
            if (open && lane.task == null && !queued.isEmpty()) {
                lane.begin(queued.poll());
            }
        }
    }

    /** One task on its way, piece by piece. */
    private final class Lane {

        private final int lane;
        private int number;
        private ReadTask task; // null when the lane is free
        private int extent; // the first that is not read to its end
        private int doneOfExtent;
        private long doneBytes;
        private long askedBytes; // 0 when nothing is asked
        private long askedNanos;

        Lane(int lane) {
            this.lane = lane;
        }

        boolean isAnswer(int toNumber) {
            return askedBytes > 0 && toNumber == number;
        }

        void begin(ReadTask next) {
            task = next;
            extent = 0;
            doneOfExtent = 0;
            doneBytes = 0;
            ask();
        }

        /** Frees the lane. */
        ReadTask end() {
            ReadTask ended = task;
            task = null;
            askedBytes = 0;
            return ended;
        }

        private void ask() {
            int count = Math.min(ControlMessage.MAX_EXTENTS, task.size() - extent);
            long[] mapIds = new long[count];
            long[] offsets = new long[count];
            int[] lengths = new int[count];
            for (int i = 0; i < count; i++) {
                int skipped = i == 0 ? doneOfExtent : 0;
                mapIds[i] = task.stagedOutputs().mapIds()[task.rkey(extent + i)];
                offsets[i] = task.remoteAddress(extent + i) + skipped;
                lengths[i] = task.lengthBytes(extent + i) - skipped;
                askedBytes += lengths[i];
            }
            askedNanos = System.nanoTime();
            int shuffleId = task.stagedOutputs().shuffleId();
            link.send(new ControlMessage.Stage(lane, ++number, shuffleId, mapIds, offsets, lengths));
        }

        void read(ControlMessage.Staged staged) {
            askedBytes = 0;
            link.read(new StagedRead(this, staged, task.localAddress(0) + doneBytes, task.lkey(), maxMessageBytes));
        }

        void onRead(int bytes) {
            link.send(new ControlMessage.Release(lane, number));
            if (task == null) {
                return; // that failed
            }
            doneBytes += bytes;
            int left = bytes;
            while (left > 0) {
                int step = Math.min(left, task.lengthBytes(extent) - doneOfExtent);
                left -= step;
                doneOfExtent += step;
                if (doneOfExtent == task.lengthBytes(extent)) {
                    extent++;
                    doneOfExtent = 0;
                }
            }
            if (extent < task.size()) {
                ask();
            } else {
                end().onDone();
                fill();
            }
        }
    }

    /** The READs of one piece that the owner staged. */
    private static final class StagedRead implements ReadTask {

        private final Lane lane;
        private final ControlMessage.Staged staged;
        private final long localAddress;
        private final int lkey;
        private final long maxReadBytes;

        private StagedRead(Lane lane, ControlMessage.Staged staged, long localAddress, int lkey, long maxReadBytes) {
            this.lane = lane;
            this.staged = staged;
            this.localAddress = localAddress;
            this.lkey = lkey;
            this.maxReadBytes = maxReadBytes;
        }

        @Override
        public int size() {
            return Math.toIntExact((staged.lengthBytes() + maxReadBytes - 1) / maxReadBytes);
        }

        @Override
        public long localAddress(int read) {
            return localAddress + read * maxReadBytes;
        }

        @Override
        public int lkey() {
            return lkey;
        }

        @Override
        public long remoteAddress(int read) {
            return staged.address() + read * maxReadBytes;
        }

        @Override
        public int rkey(int read) {
            return staged.rkey();
        }

        @Override
        public int lengthBytes(int read) {
            return (int) Math.min(maxReadBytes, staged.lengthBytes() - read * maxReadBytes);
        }

        @Override
        public void onDone() {
            lane.onRead(staged.lengthBytes());
        }

        /** The connection is over, and with it the task that this is a piece of: {@link #close} answers that one. */
        @Override
        public void onFailed(FallbackReason reason, String detail) {}
    }
}
