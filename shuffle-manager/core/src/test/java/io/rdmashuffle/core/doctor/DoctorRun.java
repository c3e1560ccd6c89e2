package io.rdmashuffle.core.doctor;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The doctor in a process of its own, as its user runs it: what a process may do is found out once. */
record DoctorRun(int exitCode, String output) {

    private static final int LONGEST_SECONDS = 60;

    /** @param environment on top of this process's, which has one device */
    static DoctorRun of(Map<String, String> environment, String... arguments) throws Exception {
        return under(List.of(), environment, List.of(), arguments);
    }

    /** @param wrapper command and options before java, such as prlimit's */
    static DoctorRun under(
            List<String> wrapper, Map<String, String> environment, List<String> jvmOptions, String... arguments)
            throws Exception {
        Process process = start(wrapper, environment, jvmOptions, arguments);
        try (InputStream output = process.getInputStream()) {
            String text = new String(output.readAllBytes(), StandardCharsets.UTF_8);
            assertTrue(process.waitFor(LONGEST_SECONDS, TimeUnit.SECONDS), text);
            return new DoctorRun(process.exitValue(), text);
        } finally {
            process.destroyForcibly();
        }
    }

    static Process start(
            List<String> wrapper, Map<String, String> environment, List<String> jvmOptions, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(wrapper);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdmashuffle.core.Main", "doctor"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("SOFTVERBS_DEVICES", "softverbs0");
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** The row of a check, with its remedy. */
    String row(String check) {
        List<String> lines = output.lines().toList();
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).matches("  \\w+ +" + check + " .*")) {
                String remedy = i + 1 < lines.size() && lines.get(i + 1).contains("->")
                        ? lines.get(i + 1).strip()
                        : "";
                return (lines.get(i).strip() + " " + remedy)
                        .replaceAll(" +", " ")
                        .strip();
            }
        }
        throw new AssertionError("no row " + check + " in\n" + output);
    }

    void assertRow(String check, String status, String... parts) {
        assertTrue(row(check).startsWith(status + " " + check), output);
        for (String part : parts) {
            assertTrue(row(check).contains(part), () -> part + " is not in " + row(check));
        }
    }
}
