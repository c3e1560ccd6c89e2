package io.rdmashuffle.core.metrics;

/** What each process has now, as {@link Counter} is what it has done since its start. */
public enum Gauge {
    REGISTERED_BYTES("registered bytes of map outputs and of their offsets"),
    PINNED_BYTES("registered bytes of all kinds together"),
    STAGING_BYTES("registered bytes of staging buffers"),
    SINK_POOL_BYTES("registered bytes of the sink pool, lent and free together"),
    SINK_LENT_BYTES("registered bytes of the sink pool that hold blocks or wait for them"),
    READER_QUEUE_PAIRS("queue pairs to owners that are connected or connecting"),
    OWNER_QUEUE_PAIRS("queue pairs of readers that are connected or connecting");

    private final String meaning;

    Gauge(String meaning) {
        this.meaning = meaning;
    }

    /** One phrase with the unit, for reports and documentation. */
    public String meaning() {
        return meaning;
    }
}
