package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * A fetch whose blocks pass through two small sinks, one block after the other: while one slice is consumed the next is READ. Loop
 * thread only.
 */
final class SlicedFetch extends Fetch {

    private static final int MAX_UNCONSUMED = 2;

    private final BlockReader reader;
    private final SliceListener listener;
    private final ArrayDeque<Passage> waiting = new ArrayDeque<>();
    private Passage current;
    private boolean switching;

    SlicedFetch(BlockReader reader, BlockRequest request, SliceListener listener) {
        super(reader, request, listener);
        this.reader = reader;
        this.listener = listener;
    }

    @Override
    void readBlocks(Owner owner, int[] blocks, long[] starts, long[] ends) {
        for (int i = 0; i < blocks.length; i++) {
            if (starts[i] == ends[i]) {
                deliver(blocks[i], null, 0, 0);
            } else {
                waiting.add(new Passage(owner, blocks[i], starts[i], ends[i]));
            }
        }
        if (current == null) {
            next();
        }
    }

    /** A loop, as blocks may end at once, one after the other. */
    private void next() {
        if (!switching) {
            switching = true;
            do {
                current = waiting.poll();
                if (current != null) {
                    current.advance();
                }
            } while (current != null && current.over);
            switching = false;
        }
    }

    /** One block on its way through the sinks. */
    private final class Passage implements PlannedReads.Outcome {

        private final Owner owner;
        private final int block;
        private final long start;
        private final long end;
        private long position; // of the next slice, in the data file
        private int unconsumed;
        private boolean reading;
        private boolean over;

        Passage(Owner owner, int block, long start, long end) {
            this.owner = owner;
            this.block = block;
            this.start = start;
            this.position = start;
            this.end = end;
        }

        void advance() {
            if (over || reading || unconsumed == MAX_UNCONSUMED || position == end) {
                return;
            }
            reading = true;
            Extents extents = newExtents(1, isStaged(block));
            addExtent(extents, block, position, (int) Math.min(reader.sliceBytes(), end - position));
            reader.plan(extents).forEach(plan -> reader.read(owner, plan, this)); // one, as a slice fits into a sink
        }

        @Override
        public void onRead(ReadPlan plan, Sink sink) {
            reading = false;
            reader.countReads(plan.reads());
            if (over) {
                return; // the block has its outcome: a slice before this one was of no use
            }
            position += plan.sinkBytes;
            unconsumed++;
            sink.retain();
            SinkSlice slice = new SinkSlice(sink, (int) plan.sinkBytes, position == end);
            try {
                listener.onSlice(block, slice);
            } catch (RuntimeException | Error e) {
                logDefect(e);
                slice.failed(e.toString());
            }
            advance();
        }

        @Override
        public void onFailed(ReadPlan plan, FallbackReason reason, String detail) {
            reading = false;
            end(() -> fallBack(block, reason, detail));
        }

        private void end(Runnable outcome) {
            if (!over) {
                over = true;
                outcome.run();
                next();
            }
        }

        /** A sink that the listener has; its answers come on any thread. */
        private final class SinkSlice implements SliceListener.Slice {

            private final Sink sink;
            private final int lengthBytes;
            private final boolean last;

            SinkSlice(Sink sink, int lengthBytes, boolean last) {
                this.sink = sink;
                this.lengthBytes = lengthBytes;
                this.last = last;
            }

            @Override
            public ByteBuffer bytes() {
                return sink.view(0, lengthBytes);
            }

            @Override
            public boolean isLast() {
                return last;
            }

            @Override
            public void consumed() {
                sink.release();
                reader.onLoop(() -> {
                    unconsumed--;
                    if (last) {
                        end(() -> markDelivered(block, Passage.this.end - start));
                    } else {
                        advance();
                    }
                });
            }

            @Override
            public void failed(String detail) {
                sink.release();
                reader.onLoop(() -> {
                    unconsumed--;
                    end(() -> fallBack(block, FallbackReason.DOWNLOAD_FAILED, detail));
                });
            }
        }
    }
}
