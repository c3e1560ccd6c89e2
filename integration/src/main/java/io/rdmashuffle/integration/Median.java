package io.rdmashuffle.integration;

import java.util.stream.DoubleStream;

/** Of repeated measurements. */
public final class Median {

    private Median() {}

    /** Not a number when there are no values. */
    public static double of(DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        int middle = sorted.length / 2;
        if (sorted.length == 0) {
            return Double.NaN;
        }
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
