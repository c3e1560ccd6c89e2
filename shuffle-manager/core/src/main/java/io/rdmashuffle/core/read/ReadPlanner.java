package io.rdmashuffle.core.read;

import java.util.ArrayList;
import java.util.List;

/**
 * Turns extents into few READs: neighbours in memory become one READ, READs longer than the device's longest message are split, and
 * all go into as few sinks as the wanted sink size allows. A pure function; any thread.
 */
final class ReadPlanner {

    private ReadPlanner() {}

    /**
     * @param maxMessageBytes longest READ of the device, at least 1
     * @param sinkBytes size of a sink that is not exceeded unless one extent alone is longer
     * @return plans that together bring each extent once, in order; a READ never crosses from one plan to the next
     */
    static List<ReadPlan> plan(Extents extents, long maxMessageBytes, long sinkBytes) {
        List<ReadPlan> plans = new ArrayList<>();
        ReadPlan plan = null;
        for (int i = 0; i < extents.size(); i++) {
            if (plan == null || plan.sinkBytes + extents.lengthBytes(i) > sinkBytes) {
                plan = new ReadPlan(i, extents.stagedOutputs());
                plans.add(plan);
            }
            add(plan, extents.address(i), extents.rkey(i), extents.lengthBytes(i), maxMessageBytes);
        }
        return plans;
    }

    private static void add(ReadPlan plan, long address, int rkey, int lengthBytes, long maxMessageBytes) {
        int done = 0;
        if (plan.extendLast(address, rkey, lengthBytes, maxMessageBytes)) {
            done = lengthBytes;
        }
        while (done < lengthBytes) {
            int piece = (int) Math.min(maxMessageBytes, lengthBytes - done);
            plan.addRead(address + done, rkey, piece);
            done += piece;
        }
        plan.extents++;
        plan.sinkBytes += lengthBytes;
    }
}
