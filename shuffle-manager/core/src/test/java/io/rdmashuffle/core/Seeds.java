package io.rdmashuffle.core;

import java.util.Random;

/** Where chance comes from in tests: it can be repeated. */
public final class Seeds {

    private Seeds() {}

    /** From the seed in the system property {@code test.seed}, or a new one; prints it. */
    public static Random random() {
        long seed = Long.getLong("test.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dtest.seed=" + seed + ")");
        return new Random(seed);
    }
}
