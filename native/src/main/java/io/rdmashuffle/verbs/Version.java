package io.rdmashuffle.verbs;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The version of rdma-shuffle, as Maven knows it. Loads no native library; any thread. */
public final class Version {
    private static final String TEXT = read();

    private Version() {}

    /** Such as 0.1.0. */
    public static String text() {
        return TEXT;
    }

    private static String read() {
        try (InputStream version = Version.class.getResourceAsStream("version")) {
            return new String(version.readAllBytes(), StandardCharsets.UTF_8).strip();
        } catch (IOException e) {
            throw new UncheckedIOException("the jar is damaged", e);
        }
    }
}
