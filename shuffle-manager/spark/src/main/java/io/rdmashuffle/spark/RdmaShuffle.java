package io.rdmashuffle.spark;

import org.apache.spark.SparkEnv;

/** The running application as its driver sees it; for tools and tests. */
public final class RdmaShuffle {

    private RdmaShuffle() {}

    /**
     * What was shuffled so far; of an executor exact when none of its tasks runs, else as it reported last, at most once a second. On the driver only, any thread.
     *
     * @throws IllegalStateException when the application does not use {@link RdmaShuffleManager}
     */
    public static ApplicationReport report() {
        if (SparkEnv.get() != null && SparkEnv.get().shuffleManager() instanceof RdmaShuffleManager manager) {
            return manager.report();
        }
        throw new IllegalStateException(
                "this application does not use spark.shuffle.manager=" + RdmaShuffleManager.class.getName());
    }
}
