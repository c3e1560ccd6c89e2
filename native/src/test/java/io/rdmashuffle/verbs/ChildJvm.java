package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** A JVM of its own for what a process can find out only once, or must die for. Runs under -Xcheck:jni. */
final class ChildJvm implements AutoCloseable {
    /** Directories of this test's own class path. */
    static final String CLASS_PATH = System.getProperty("java.class.path");

    private static final Predicate<String> JNI_COMPLAINT =
            line -> line.contains("WARNING in native method") || line.contains("FATAL ERROR in native");

    private final Process process;
    private final BufferedReader output;

    private ChildJvm(Process process) {
        this.process = process;
        this.output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * Starts a command, which ends in {@link #command}.
     *
     * @param environment on top of this process's
     */
    static ChildJvm start(Map<String, String> environment, List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        return new ChildJvm(builder.start());
    }

    /** The command that runs main. */
    static List<String> command(String classPath, List<String> jvmArguments, Class<?> main, String... args) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xcheck:jni",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath));
        command.addAll(jvmArguments);
        command.add(main.getName());
        command.addAll(List.of(args));
        return command;
    }

    static ChildJvm start(Class<?> main, String... args) throws IOException {
        return start(Map.of(), command(CLASS_PATH, List.of(), main, args));
    }

    /** Everything it prints until it ends, which must not contain a complaint of -Xcheck:jni. */
    String outputToEnd() throws InterruptedException {
        String text = output.lines().collect(Collectors.joining("\n"));
        process.waitFor();
        assertFalse(text.lines().anyMatch(JNI_COMPLAINT), text);
        return text;
    }

    /** The rest of the first line that starts so; what comes before is dropped. */
    String awaitLine(String prefix) throws IOException {
        List<String> seen = new ArrayList<>();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.startsWith(prefix)) {
                return line.substring(prefix.length());
            }
            seen.add(line);
        }
        throw new IOException("no line with " + prefix + " in:\n" + String.join("\n", seen));
    }

    int exitCode() throws InterruptedException {
        return process.waitFor();
    }

    /** SIGKILL. */
    void kill() {
        process.destroyForcibly().onExit().join();
    }

    @Override
    public void close() throws IOException {
        kill();
        output.close();
    }
}
