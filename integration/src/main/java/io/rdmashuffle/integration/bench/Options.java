package io.rdmashuffle.integration.bench;

import java.util.HashMap;
import java.util.Map;

/** A command line of {@code --name value} pairs. */
final class Options {

    private final Map<String, String> given = new HashMap<>();

    Options(String[] args) {
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--") || i + 1 == args.length) {
                throw new IllegalArgumentException("'" + args[i] + "' is no option with a value");
            }
            given.put(args[i].substring(2), args[i + 1]);
        }
    }

    String text(String name, String otherwise) {
        return given.getOrDefault(name, otherwise);
    }

    int number(String name, int otherwise) {
        String text = given.get(name);
        try {
            return text == null ? otherwise : Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("--" + name + " wants a number, not '" + text + "'", e);
        }
    }
}
