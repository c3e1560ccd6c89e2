package io.rdmashuffle.integration;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/**
 * The first place where two results differ.
 *
 * @param row counted from 1, in the order compared
 * @param left the row of the first result, or null past its end
 */
record RowDifference(int row, List<Object> left, List<Object> right) {
    /** Two sums of the same doubles in another order differ by less. */
    private static final double RELATIVE_TOLERANCE = 1e-9;

    /**
     * Compares row by row.
     *
     * @param ordered whether the order of the rows is part of the result; else both are sorted first
     */
    static Optional<RowDifference> first(List<List<Object>> left, List<List<Object>> right, boolean ordered) {
        Iterator<List<Object>> lefts = (ordered ? left : sorted(left)).iterator();
        Iterator<List<Object>> rights = (ordered ? right : sorted(right)).iterator();
        for (int row = 1; lefts.hasNext() || rights.hasNext(); row++) {
            List<Object> a = lefts.hasNext() ? lefts.next() : null;
            List<Object> b = rights.hasNext() ? rights.next() : null;
            if (a == null || b == null || !same(a, b)) {
                return Optional.of(new RowDifference(row, a, b));
            }
        }
        return Optional.empty();
    }

    @Override
    public String toString() {
        return "row " + row + ": sort " + left + ", ours " + right;
    }

    private static boolean same(List<Object> a, List<Object> b) {
        Iterator<Object> others = b.iterator();
        return a.size() == b.size() && a.stream().allMatch(value -> same(value, others.next()));
    }

    private static boolean same(Object a, Object b) {
        if (a instanceof Double x && b instanceof Double y) {
            return x.equals(y) || Math.abs(x - y) <= RELATIVE_TOLERANCE * Math.max(Math.abs(x), Math.abs(y));
        }
        return a == null ? b == null : a.equals(b);
    }

    /** Doubles count last: rows that are the same but for rounding must end up in the same place. */
    private static List<List<Object>> sorted(List<List<Object>> rows) {
        List<List<Object>> sorted = new ArrayList<>(rows);
        sorted.sort(Comparator.<List<Object>, String>comparing(RowDifference::exactValues)
                .thenComparing(RowDifference::doubles, RowDifference::compareDoubles));
        return sorted;
    }

    private static String exactValues(List<Object> row) {
        return row.stream().filter(value -> !(value instanceof Double)).toList().toString();
    }

    private static List<Double> doubles(List<Object> row) {
        return row.stream()
                .filter(Double.class::isInstance)
                .map(Double.class::cast)
                .toList();
    }

    private static int compareDoubles(List<Double> a, List<Double> b) {
        return Arrays.compare(a.toArray(Double[]::new), b.toArray(Double[]::new));
    }
}
