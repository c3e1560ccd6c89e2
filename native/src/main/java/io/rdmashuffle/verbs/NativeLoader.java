package io.rdmashuffle.verbs;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.stream.IntStream;

/**
 * Loads the native library out of the jar once per process and checks that both halves agree. The library is written to
 * {@code java.io.tmpdir}, or to the directory in the system property {@value #DIRECTORY_PROPERTY}, and its file is
 * removed as soon as it is mapped.
 */
final class NativeLoader {
    static final String DIRECTORY_PROPERTY = "io.rdmashuffle.native.dir";
    static final String LIBRARY = "librdmashuffle_verbs.so";

    private static final Unavailability UNAVAILABILITY = load();

    private NativeLoader() {}

    /** Null when the library is loaded. Never throws. */
    static Unavailability unavailability() {
        return UNAVAILABILITY;
    }

    /** @throws VerbsException when the library is not loaded */
    static void require() throws VerbsException {
        if (UNAVAILABILITY != null) {
            throw new VerbsException(UNAVAILABILITY.toString(), VerbsException.ENODEV);
        }
    }

    /** Text of a positive errno, as far as it can be told without the library. */
    static String strerror(int errno) {
        return UNAVAILABILITY == null ? Native.strerror(errno) : "error";
    }

    private static Unavailability load() {
        String platform = platform(System.getProperty("os.name"), System.getProperty("os.arch"));
        if (platform == null) {
            return unavailable(
                    "no native library for " + System.getProperty("os.name") + " on " + System.getProperty("os.arch"),
                    "RDMA needs Linux on x86_64 or aarch64");
        }
        String resource = "/META-INF/native/" + platform + "/" + LIBRARY;
        try (InputStream library = NativeLoader.class.getResourceAsStream(resource)) {
            if (library == null) {
                return unavailable("the jar holds no " + resource, "use a jar built for " + platform);
            }
            loadFrom(library);
        } catch (IOException | RuntimeException e) {
            return unavailable(
                    "cannot write the native library to " + directory() + " (" + oneLine(e.toString()) + ")",
                    "make it writable or set -D" + DIRECTORY_PROPERTY);
        } catch (UnsatisfiedLinkError e) {
            String reason = oneLine(e.getMessage());
            return unavailable(
                    "cannot load the native library from " + directory() + " (" + reason + ")", loadRemedy(reason));
        }
        return disagreement();
    }

    private static void loadFrom(InputStream library) throws IOException {
        Path file = Files.createTempFile(Path.of(directory()), "librdmashuffle_verbs", ".so");
        try {
            Files.copy(library, file, StandardCopyOption.REPLACE_EXISTING);
            System.load(file.toAbsolutePath().toString());
        } finally {
            Files.deleteIfExists(file);
        }
    }

    private static String directory() {
        return System.getProperty(DIRECTORY_PROPERTY, System.getProperty("java.io.tmpdir"));
    }

    /** Resource directory for Java's names of system and processor; null when there is no library for them. */
    static String platform(String osName, String osArch) {
        if (!osName.equals("Linux")) {
            return null;
        }
        return switch (osArch) {
            case "amd64", "x86_64" -> "linux-x86_64";
            case "aarch64" -> "linux-aarch64";
            default -> null;
        };
    }

    private static Unavailability disagreement() {
        try {
            return disagreement(Native.abi());
        } catch (UnsatisfiedLinkError e) {
            return otherLibrary(oneLine(e.getMessage()));
        }
    }

    /** Null when the C half says what this half expects, else the first difference. */
    static Unavailability disagreement(int[] actual) {
        int[] expected = expectedAbi();
        for (int i = 0; i < Math.min(actual.length, expected.length); i++) {
            if (actual[i] != expected[i]) {
                return otherLibrary("ABI item " + i + " is " + actual[i] + ", expected " + expected[i]);
            }
        }
        return actual.length == expected.length
                ? null
                : otherLibrary(actual.length + " ABI items, expected " + expected.length);
    }

    private static Unavailability otherLibrary(String difference) {
        return unavailable(
                "the native library is not that of this jar (" + difference + ")",
                "use one version of rdma-shuffle on the whole class path");
    }

    private static Unavailability unavailable(String cause, String remedy) {
        return new Unavailability(Unavailability.Step.NATIVE_LIBRARY, cause, remedy);
    }

    /** Interface version, struct sizes, access rights, then the codes of each enum, which are its ordinals. */
    static int[] expectedAbi() {
        IntStream sizes = IntStream.of(
                Native.ABI_VERSION,
                DeviceInfo.BYTES,
                ReadBatch.STRIDE,
                EventBatch.HEADER_BYTES,
                EventBatch.COMPLETION_STRIDE,
                EventBatch.CM_EVENT_STRIDE,
                EventBatch.ASYNC_EVENT_STRIDE,
                EventBatch.PRIVATE_DATA_BYTES);
        IntStream rights = IntStream.of(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.ON_DEMAND);
        IntStream codes = IntStream.of(
                        WcStatus.values().length, CmEventType.UNKNOWN.ordinal(), AsyncEventType.UNKNOWN.ordinal())
                .flatMap(length -> IntStream.range(0, length));
        return IntStream.concat(IntStream.concat(sizes, rights), codes).toArray();
    }

    static String loadRemedy(String reason) {
        return reason.contains("GLIBC_")
                ? "it was built on a newer system, build it on this one"
                : "if that directory is mounted noexec set -D" + DIRECTORY_PROPERTY + " to another";
    }

    private static String oneLine(String text) {
        return String.valueOf(text).replaceAll("\\s+", " ");
    }
}
