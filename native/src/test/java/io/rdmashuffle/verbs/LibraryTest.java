package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the shared library imports and exports, and whether both halves agree. */
@Timeout(60)
class LibraryTest {
    private static final String PREFIX = "Java_io_rdmashuffle_verbs_Native_";

    @Test
    void exports_exactly_the_native_methods() throws Exception {
        TreeSet<String> declared = Arrays.stream(Native.class.getDeclaredMethods())
                .filter(method -> Modifier.isNative(method.getModifiers()))
                .map(Method::getName)
                .collect(Collectors.toCollection(TreeSet::new));
        TreeSet<String> exported = symbols("--defined-only").stream()
                .map(name -> name.replace(PREFIX, ""))
                .collect(Collectors.toCollection(TreeSet::new));
        assertEquals(declared, exported);
    }

    @Test
    void needs_neither_libibverbs_nor_librdmacm_to_be_loaded() throws Exception {
        assertTrue(symbols("--undefined-only").stream().noneMatch(name -> name.matches("(ibv|rdma)_.*")));
        List<String> needed = run("readelf", "-d", library()).stream()
                .filter(line -> line.contains("(NEEDED)"))
                .toList();
        assertTrue(needed.stream().noneMatch(line -> line.matches(".*(ibverbs|rdmacm).*")), needed.toString());
    }

    @Test
    void agrees_with_the_java_half() {
        assertNull(NativeLoader.unavailability());
        assertArrayEquals(NativeLoader.expectedAbi(), Native.abi());
    }

    @Test
    void a_difference_is_named() {
        int[] other = NativeLoader.expectedAbi();
        other[2]++;
        Unavailability difference = NativeLoader.disagreement(other);
        assertNotNull(difference);
        assertTrue(difference.cause().contains("ABI item 2 is 41, expected 40"), difference::toString);
        assertNotNull(NativeLoader.disagreement(Arrays.copyOf(NativeLoader.expectedAbi(), 3)));
    }

    @Test
    void a_library_that_does_not_load_has_the_remedy_of_its_reason() {
        assertTrue(NativeLoader.loadRemedy("version `GLIBC_2.34' not found").contains("build it on this one"));
        assertTrue(NativeLoader.loadRemedy("failed to map segment").contains(NativeLoader.DIRECTORY_PROPERTY));
    }

    @Test
    void there_are_libraries_for_linux_on_two_processors() {
        assertEquals("linux-x86_64", NativeLoader.platform("Linux", "amd64"));
        assertEquals("linux-aarch64", NativeLoader.platform("Linux", "aarch64"));
        assertNull(NativeLoader.platform("Linux", "s390x"));
        assertNull(NativeLoader.platform("Mac OS X", "aarch64"));
    }

    private static List<String> symbols(String which) throws Exception {
        return run("nm", "-D", which, library()).stream()
                .map(line -> line.replaceAll(".* ", "").replaceAll("@.*", ""))
                .toList();
    }

    private static String library() throws Exception {
        String platform = NativeLoader.platform(System.getProperty("os.name"), System.getProperty("os.arch"));
        String resource = "/META-INF/native/" + platform + "/" + NativeLoader.LIBRARY;
        return Path.of(LibraryTest.class.getResource(resource).toURI()).toString();
    }

    private static List<String> run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).start();
        try (InputStream output = process.getInputStream()) {
            List<String> lines = new String(output.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
            assertEquals(0, process.waitFor(), () -> String.join(" ", command));
            return lines;
        }
    }
}
