package io.rdmashuffle.core.memory;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.verbs.CgroupMemory;
import io.rdmashuffle.verbs.HostLimits;

/**
 * The one budget of what a process registers, parted once so that no use can starve another: map outputs get what the others leave.
 *
 * @param whole all of it
 * @param mapOutputs data files
 * @param offsets offsets of map outputs, without which they cannot even be staged
 * @param messages message rings of connections
 * @param staging buffers that bytes of unregistered map outputs are copied into; nothing when staging is off
 * @param sinks where READs land
 */
public record PinnedShares(
        PinnedBudget whole,
        PinnedBudget mapOutputs,
        PinnedBudget offsets,
        PinnedBudget messages,
        PinnedBudget staging,
        PinnedBudget sinks) {

    private static final long MESSAGES_MAX_BYTES = 64 << 20; // for thousands of connections

    /** What the setting, RLIMIT_MEMLOCK and the control group allow for now, read once. */
    public static PinnedShares of(RdmaConfig config) {
        long memlockBytes = HostLimits.memlockExempt() ? Long.MAX_VALUE : HostLimits.memlockSoftBytes();
        long cgroupBytes = roomBytes(CgroupMemory.read(), Runtime.getRuntime().maxMemory());
        long wholeBytes = Math.min(config.get(RdmaConfig.PINNED_MAX_BYTES), Math.min(memlockBytes, cgroupBytes));
        return of(wholeBytes, config.get(RdmaConfig.SINK_MAX_BYTES), config.get(RdmaConfig.STAGING_MAX_BYTES));
    }

    /** The shares of one of several applications of the process, of whose map outputs no more than that is registered. */
    public PinnedShares ofApplication(long maxMapOutputBytes) {
        return new PinnedShares(whole, mapOutputs.share(maxMapOutputBytes), offsets, messages, staging, sinks);
    }

    /** Why nothing can be registered to speak of, with the limits that say so. */
    public String tooSmall() {
        return "only " + (whole.maxBytes() >> 10) + " KiB may be registered (RLIMIT_MEMLOCK "
                + inKib(HostLimits.memlockSoftBytes()) + ", limit of the control group "
                + inKib(CgroupMemory.read().limitBytes()) + "): raise the limit, memlock in /etc/security/limits.d or "
                + "--ulimit memlock=-1 for a container";
    }

    private static String inKib(long bytes) {
        return bytes == Long.MAX_VALUE ? "none" : (bytes >> 10) + " KiB";
    }

    /**
     * @param wholeBytes most registered bytes
     * @param sinkMaxBytes most for sinks, at most a quarter of all
     * @param stagingMaxBytes most for staging, at most an eighth of all
     */
    static PinnedShares of(long wholeBytes, long sinkMaxBytes, long stagingMaxBytes) {
        PinnedBudget whole = new PinnedBudget(wholeBytes);
        long sinks = Math.min(sinkMaxBytes, wholeBytes / 4);
        long staging = Math.min(stagingMaxBytes, wholeBytes / 8);
        long offsets = wholeBytes / 8;
        long messages = messageBytes(wholeBytes);
        return new PinnedShares(
                whole,
                whole.share(wholeBytes - sinks - staging - offsets - messages),
                whole.share(offsets),
                whole.share(messages),
                whole.share(staging),
                whole.share(sinks));
    }

    /** Of so many bytes that may be registered, those for message rings of connections. */
    public static long messageBytes(long wholeBytes) {
        return Math.min(MESSAGES_MAX_BYTES, wholeBytes / 8);
    }

    /**
     * Half of what the control group's limit leaves, now or beside the largest heap, whichever is less; the other half is for what
     * else the process holds outside its heap.
     */
    static long roomBytes(CgroupMemory group, long maxHeapBytes) {
        if (group.limitBytes() == Long.MAX_VALUE) {
            return Long.MAX_VALUE;
        }
        return Math.max(0, Math.min(group.headroomBytes(), group.limitBytes() - maxHeapBytes)) / 2;
    }
}
