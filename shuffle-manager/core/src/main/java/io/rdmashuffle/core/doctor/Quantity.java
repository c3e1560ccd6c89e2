package io.rdmashuffle.core.doctor;

import java.util.Locale;

/** Amounts, for people. */
final class Quantity {

    private Quantity() {}

    /** With the largest binary unit that leaves at least 1, e.g. 64 KiB, 5.2 GiB. */
    static String bytes(long bytes) {
        int unit = Math.max(0, (63 - Long.numberOfLeadingZeros(Math.max(1, bytes))) / 10);
        double amount = bytes / Math.pow(1024, unit);
        String digits = amount == Math.rint(amount)
                ? String.format(Locale.ROOT, "%.0f", amount)
                : String.format(Locale.ROOT, "%.1f", amount);
        return digits + new String[] {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}[unit];
    }

    /** As {@link #bytes}; the largest long is unlimited. */
    static String limit(long bytes) {
        return bytes == Long.MAX_VALUE ? "unlimited" : bytes(bytes);
    }

    static String micros(long nanos) {
        return String.format(Locale.ROOT, "%.1f µs", nanos / 1000.0);
    }
}
