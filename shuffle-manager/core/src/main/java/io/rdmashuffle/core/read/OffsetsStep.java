package io.rdmashuffle.core.read;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.PublishedOutput;
import io.rdmashuffle.core.memory.OffsetsRegion;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The step of a fetch that has the offsets of its blocks: kept ones at once, the others by READs of the owner's offsets region,
 * whole rows while rows are short, so that later fetches find them kept. Loop thread only.
 */
final class OffsetsStep implements PlannedReads.Outcome {

    /** Rows up to this are read whole in any case: a READ of 4 KiB costs hardly more than one of 16 bytes. */
    private static final long SHORT_ROW_BYTES = 4 << 10;

    /** Rows up to this are read whole if they can be kept: one such READ for all tasks to come instead of a small one for each. */
    private static final long LONG_ROW_BYTES = 64 << 10;

    /** A run of offsets {@code [first, last]} of one map output, for the blocks that need it. */
    private record Run(PublishedOutput output, int first, int last, BitSet blocks) {

        long address() {
            return output.offsetsAddress() + 8L * first;
        }

        int bytes() {
            return 8 * (last - first + 1);
        }
    }

    private final BlockReader reader;
    private final BlockRequest request;
    private final PublishedOutput[] outputs;
    private final Owner owner;
    private final Fetch fetch;
    private List<Run> runs;

    OffsetsStep(BlockReader reader, BlockRequest request, PublishedOutput[] outputs, Owner owner, Fetch fetch) {
        this.reader = reader;
        this.request = request;
        this.outputs = outputs;
        this.owner = owner;
        this.fetch = fetch;
    }

    void start(BitSet blocks) {
        BitSet known = new BitSet();
        BitSet unknown = new BitSet();
        blocks.stream().forEach(block -> (outputs[block].offsets() != null ? known : unknown).set(block));
        runs = runsOf(unknown);
        Extents extents = new Extents(runs.size());
        runs.forEach(run -> extents.add(run.address(), run.output.offsetsRkey(), run.bytes()));
        reader.plan(extents).forEach(plan -> reader.read(owner, plan, this));
        readBlocks(known, block -> outputs[block].offsets(), 0);
    }

    @Override
    public void onRead(ReadPlan plan, Sink sink) {
        long at = 0;
        BitSet whole = new BitSet();
        for (Run run : runs.subList(plan.firstExtent, plan.firstExtent + plan.extents)) {
            long[] offsets = parse(sink.view(at, run.bytes()));
            at += run.bytes();
            if (offsets.length == run.output.partitions() + 1) {
                reader.locations().keepOffsets(request.shuffleId(), run.output, offsets);
            }
            if (run.output.offsets() != null) {
                whole.or(run.blocks);
            } else {
                readBlocks(run.blocks, block -> offsets, run.first);
            }
        }
        readBlocks(whole, block -> outputs[block].offsets(), 0);
    }

    @Override
    public void onFailed(ReadPlan plan, FallbackReason reason, String detail) {
        BitSet failed = new BitSet();
        runs.subList(plan.firstExtent, plan.firstExtent + plan.extents).forEach(run -> failed.or(run.blocks));
        fetch.fallBack(failed, reason, detail);
    }

    /** What must be read for these blocks, in the order of memory so that neighbouring rows become one READ. */
    private List<Run> runsOf(BitSet blocks) {
        Map<Long, Run> wholeRows = new HashMap<>();
        List<Run> found = new ArrayList<>();
        long roomBytes = reader.locations().freeOffsetsBytes();
        for (int block = blocks.nextSetBit(0); block >= 0; block = blocks.nextSetBit(block + 1)) {
            PublishedOutput output = outputs[block];
            long mapId = request.mapIds()[block];
            Run run = wholeRows.get(mapId);
            if (run == null) {
                int partitions = output.partitions();
                long rowBytes = OffsetsRegion.rowBytes(partitions);
                if (rowBytes <= SHORT_ROW_BYTES || rowBytes <= Math.min(LONG_ROW_BYTES, roomBytes)) {
                    run = new Run(output, 0, partitions, new BitSet());
                    wholeRows.put(mapId, run);
                    roomBytes -= rowBytes;
                } else {
                    run = new Run(
                            output, request.startPartitions()[block], request.endPartitions()[block], new BitSet());
                }
                found.add(run);
            }
            run.blocks.set(block);
        }
        found.sort(Comparator.comparingLong(Run::address));
        return found;
    }

    private interface OffsetsOfBlock {
        long[] of(int block);
    }

    /** Checks the offsets of these blocks and goes on with those that make sense. */
    private void readBlocks(BitSet blocks, OffsetsOfBlock offsets, int firstPartition) {
        int[] good = new int[blocks.cardinality()];
        long[] starts = new long[good.length];
        long[] ends = new long[good.length];
        int count = 0;
        BitSet bad = new BitSet();
        for (int block = blocks.nextSetBit(0); block >= 0; block = blocks.nextSetBit(block + 1)) {
            long[] row = offsets.of(block);
            long start = row[request.startPartitions()[block] - firstPartition];
            long end = row[request.endPartitions()[block] - firstPartition];
            if (isSound(outputs[block], start, end)) {
                good[count] = block;
                starts[count] = start;
                ends[count++] = end;
            } else {
                bad.set(block);
            }
        }
        fetch.fallBack(bad, FallbackReason.BAD_OFFSETS, "");
        if (count > 0) {
            fetch.haveOffsets();
            fetch.readBlocks(
                    owner, Arrays.copyOf(good, count), Arrays.copyOf(starts, count), Arrays.copyOf(ends, count));
        }
    }

    private static boolean isSound(PublishedOutput output, long start, long end) {
        return 0 <= start && start <= end && end <= output.dataBytes();
    }

    private static long[] parse(ByteBuffer bytes) {
        long[] offsets = new long[bytes.remaining() / Long.BYTES];
        bytes.order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(offsets);
        return offsets;
    }
}
