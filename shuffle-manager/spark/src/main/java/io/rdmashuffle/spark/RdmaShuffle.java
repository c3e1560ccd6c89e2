package io.rdmashuffle.spark;

import org.apache.spark.SparkEnv;

/** The running application as its driver sees it; for tools and tests. */
public final class RdmaShuffle {

    private RdmaShuffle() {}

    /**
     * What was shuffled so far; exact for tasks that have ended. On the driver only, any thread.
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
