package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.ReadTask.StagedOutputs;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.directory.PublishedOutput;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.Arrays;
import java.util.BitSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request on its walk: locate its map outputs, have their offsets, read the blocks, deliver. Whatever cannot go on names a
 * reason and ends for just those blocks. Each block ends once: {@code open} holds those that did not. Loop thread only.
 */
class Fetch {

    private static final Logger LOG = LoggerFactory.getLogger(Fetch.class);

    private final BlockReader reader;
    private final BlockRequest request;
    private final BlockListener listener;
    private final BitSet open;
    private final PublishedOutput[] outputs;
    private final FetchEvent event;
    private boolean askedAnew;

    Fetch(BlockReader reader, BlockRequest request, BlockListener listener) {
        this.reader = reader;
        this.request = request;
        this.listener = listener;
        this.outputs = new PublishedOutput[request.size()];
        this.open = new BitSet(request.size());
        open.set(0, request.size());
        this.event = new FetchEvent(request.executorId(), request.size());
    }

    void start() {
        try {
            locate();
        } catch (RuntimeException | Error e) {
            fail(e);
        }
    }

    /** Finds the entries; asks the directory when one is missing that could have appeared since, or they are in doubt. */
    private void locate() {
        BitSet located = new BitSet();
        BitSet missing = new BitSet();
        boolean mayBeNews = reader.locations().isDoubted(request.shuffleId());
        for (int block = 0; block < outputs.length; block++) {
            PublishedOutput output = reader.locations().find(request.shuffleId(), request.mapIds()[block]);
            if (isOurs(output, block)) {
                outputs[block] = output;
                located.set(block);
            } else {
                missing.set(block);
                mayBeNews |= reader.locations().mayAppear(request.shuffleId(), request.mapIds()[block]);
            }
        }
        if (mayBeNews && !askedAnew) {
            askedAnew = reader.locations().refresh(request.shuffleId(), this::onLocations);
            return;
        }
        missing.stream().forEach(block -> reader.locations().markAbsent(request.shuffleId(), request.mapIds()[block]));
        fallBack(missing, FallbackReason.NOT_PUBLISHED, "");
        if (!located.isEmpty()) {
            event.located();
        }
        while (!located.isEmpty()) {
            Owner owner = outputs[located.nextSetBit(0)].owner();
            BitSet blocks = blocksOf(owner, located);
            located.andNot(blocks);
            new OffsetsStep(reader, request, outputs, owner, this).start(blocks);
        }
    }

    /** Of several owners, as some of an executor's map outputs may be with the shuffle service, or with another life of it. */
    private BitSet blocksOf(Owner owner, BitSet blocks) {
        return blocks.stream()
                .filter(block -> outputs[block].owner().incarnation() == owner.incarnation())
                .collect(BitSet::new, BitSet::set, BitSet::or);
    }

    /** The entry must be of the executor that the engine names: blocks move between executors. */
    private boolean isOurs(PublishedOutput output, int block) {
        return output != null
                && output.owner().executorId().equals(request.executorId())
                && request.endPartitions()[block] <= output.partitions();
    }

    private void onLocations(Throwable error) {
        if (error == null) {
            start();
        } else {
            fallBack((BitSet) open.clone(), FallbackReason.DIRECTORY_UNREACHABLE, String.valueOf(error.getMessage()));
        }
    }

    /** The offsets of some blocks are known. */
    final void haveOffsets() {
        event.haveOffsets();
    }

    /** Reads these blocks, whose offsets are known. */
    void readBlocks(Owner owner, int[] blocks, long[] starts, long[] ends) {
        BitSet tooLarge = new BitSet();
        Delivery registered = new Delivery(blocks.length, false);
        Delivery staged = new Delivery(0, true);
        for (int i = 0; i < blocks.length; i++) {
            int block = blocks[i];
            long lengthBytes = ends[i] - starts[i];
            if (lengthBytes == 0) {
                deliver(block, null, 0, 0);
            } else if (lengthBytes > Integer.MAX_VALUE || !reader.pool().canEverHold(lengthBytes)) {
                tooLarge.set(block);
            } else {
                (isStaged(block) ? staged : registered).add(block, starts[i], (int) lengthBytes);
            }
        }
        fallBack(tooLarge, FallbackReason.TOO_LARGE, "");
        registered.read(owner);
        staged.read(owner);
    }

    final boolean isStaged(int block) {
        return outputs[block].placement() == Placement.STAGED;
    }

    /** Extents of blocks that are all staged, or all are not. */
    final Extents newExtents(int capacity, boolean staged) {
        return new Extents(capacity, staged ? new StagedOutputs(request.shuffleId(), request.mapIds()) : null);
    }

    /** Adds bytes of a block from an offset into its data file on. */
    final void addExtent(Extents extents, int block, long offset, int lengthBytes) {
        if (extents.stagedOutputs() == null) {
            extents.add(outputs[block].dataAddress() + offset, outputs[block].dataRkey(), lengthBytes);
        } else {
            extents.add(offset, block, lengthBytes);
        }
    }

    final void fallBack(BitSet blocks, FallbackReason reason, String detail) {
        blocks.and(open);
        if (!blocks.isEmpty()) {
            if (reason == FallbackReason.READ_FAILED) {
                reader.locations().doubt(request.shuffleId());
            }
            open.andNot(blocks);
            endIfAllDone();
            try {
                listener.onFallback(blocks.stream().toArray(), reason, detail);
            } catch (RuntimeException | Error e) {
                logDefect(e);
            }
        }
    }

    final void fallBack(int block, FallbackReason reason, String detail) {
        BitSet one = new BitSet();
        one.set(block);
        fallBack(one, reason, detail);
    }

    /** The block ended well, as its last receiver says. */
    final void markDelivered(int block, long lengthBytes) {
        open.clear(block);
        event.delivered(lengthBytes);
        endIfAllDone();
        reader.countBlock(outputs[block].placement(), lengthBytes);
    }

    final void deliver(int block, Sink sink, long offset, int lengthBytes) {
        if (open.get(block)) {
            markDelivered(block, lengthBytes);
            try {
                listener.onBlock(block, sink, offset, lengthBytes);
            } catch (RuntimeException | Error e) {
                logDefect(e);
            }
        }
    }

    private void endIfAllDone() {
        if (open.isEmpty()) {
            event.ended();
        }
    }

    /** What a listener throws is its own matter: the other blocks of this fetch, and other fetches, know nothing of it. */
    static void logDefect(Throwable e) {
        LOG.error("RDMA shuffle: whoever asked for blocks failed when told of one", e);
    }

    /** A defect of ours: no block may be lost by it. */
    private void fail(Throwable e) {
        LOG.error("RDMA shuffle: a fetch failed by a defect; its blocks are read over TCP", e);
        fallBack((BitSet) open.clone(), FallbackReason.READ_FAILED, e.toString());
    }

    /** Blocks that are read in one way; hands those of one plan over when their bytes are there. */
    private final class Delivery implements PlannedReads.Outcome {

        private final Extents extents;
        private int[] blockOfExtent;

        Delivery(int capacity, boolean staged) {
            this.extents = newExtents(capacity, staged);
            this.blockOfExtent = new int[capacity];
        }

        void add(int block, long offset, int lengthBytes) {
            if (extents.size() == blockOfExtent.length) {
                blockOfExtent = Arrays.copyOf(blockOfExtent, Math.max(16, 2 * blockOfExtent.length));
            }
            blockOfExtent[extents.size()] = block;
            addExtent(extents, block, offset, lengthBytes);
        }

        void read(Owner owner) {
            reader.plan(extents).forEach(plan -> reader.read(owner, plan, this));
        }

        @Override
        public void onRead(ReadPlan plan, Sink sink) {
            reader.countReads(plan.reads());
            long offset = 0;
            for (int extent = plan.firstExtent; extent < plan.firstExtent + plan.extents; extent++) {
                deliver(blockOfExtent[extent], sink, offset, extents.lengthBytes(extent));
                offset += extents.lengthBytes(extent);
            }
        }

        @Override
        public void onFailed(ReadPlan plan, FallbackReason reason, String detail) {
            BitSet failed = new BitSet();
            for (int extent = plan.firstExtent; extent < plan.firstExtent + plan.extents; extent++) {
                failed.set(blockOfExtent[extent]);
            }
            fallBack(failed, reason, detail);
        }
    }
}
