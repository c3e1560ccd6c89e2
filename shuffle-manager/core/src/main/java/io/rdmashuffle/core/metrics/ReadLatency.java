package io.rdmashuffle.core.metrics;

/**
 * How long chains of READs take from posting to completion, in buckets that double: the buckets of all processes can be added, which
 * exact quantiles could not. Bucket {@code i} counts those of less than 2<sup>i</sup> microseconds, the last one all that took longer.
 */
public final class ReadLatency {

    /** The last bucket begins at 8.4 s. */
    static final int BUCKETS = 25;

    private final long[] chains;

    ReadLatency(long[] chains) {
        this.chains = chains;
    }

    static int bucket(long nanos) {
        long micros = Math.max(0, nanos) / 1000;
        return Math.min(BUCKETS - 1, Long.SIZE - Long.numberOfLeadingZeros(micros));
    }

    /** Chains that completed. */
    public long count() {
        long sum = 0;
        for (long inBucket : chains) {
            sum += inBucket;
        }
        return sum;
    }

    /**
     * The time within which this share of the chains completed, rounded up to a power of two.
     *
     * @param share above 0, up to 1
     * @return microseconds; 0 when none has completed
     */
    public long quantileMicros(double share) {
        long wanted = (long) Math.ceil(share * count());
        long seen = 0;
        for (int i = 0; i < chains.length && wanted > 0; i++) {
            seen += chains[i];
            if (seen >= wanted) {
                return 1L << i;
            }
        }
        return 0;
    }
}
