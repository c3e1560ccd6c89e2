package io.rdmashuffle.verbs;

/**
 * Rights of a memory region, to be joined by {@code |}: {@code enum ibv_access_flags} (checked against the C header when
 * the native library is loaded). Local reading is always allowed.
 */
public final class Access {
    /** READs may land here (a sink). */
    public static final int LOCAL_WRITE = 1;
    /** A peer may write here. Only for sinks on iWARP, which asks for it; needs {@link #LOCAL_WRITE} too. */
    public static final int REMOTE_WRITE = 1 << 1;
    /** A peer may read here (a source). */
    public static final int REMOTE_READ = 1 << 2;
    /** On-demand paging: pages are not pinned. Only where {@link RdmaDevice#odp}. */
    public static final int ON_DEMAND = 1 << 6;

    private Access() {}
}
