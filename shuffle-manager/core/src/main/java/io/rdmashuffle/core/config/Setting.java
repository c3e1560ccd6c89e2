package io.rdmashuffle.core.config;

import java.util.function.Function;

/**
 * One row of the settings table: a setting is declared here once, and parsing, range check and documentation follow.
 *
 * @param name the name below the engine's prefix, e.g. {@code mode} for {@code spark.shuffle.rdma.mode}
 * @param defaultText the default as a user would write it
 * @param range the allowed values, for people
 * @param since the first version that has it
 * @param meaning one sentence for people
 * @param parser turns the user's text into the value; throws IllegalArgumentException when it is out of range
 */
public record Setting<T>(
        String name,
        String type,
        String defaultText,
        String range,
        String since,
        String meaning,
        Function<String, T> parser) {

    /**
     * Parses the user's text.
     *
     * @throws IllegalArgumentException naming the setting, the bad value and the allowed range
     */
    T parse(String prefix, String text) {
        try {
            return parser.apply(text.trim());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(prefix + name + "=" + text + " is not allowed; allowed: " + range, e);
        }
    }
}
