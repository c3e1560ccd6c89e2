package io.rdmashuffle.core.config;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes maps, lists, strings, numbers, booleans and null as JSON (RFC 8259). */
public final class Json {

    private Json() {}

    public static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> string(entry.getKey().toString()) + ":" + write(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        }
        return value == null || value instanceof Number || value instanceof Boolean
                ? String.valueOf(value)
                : string(value.toString());
    }

    private static String string(String text) {
        return text.codePoints()
                .mapToObj(c -> c == '"' || c == '\\'
                        ? "\\" + (char) c
                        : c < ' ' ? String.format("\\u%04x", c) : Character.toString(c))
                .collect(Collectors.joining("", "\"", "\""));
    }
}
