package io.rdmashuffle.core;

import io.rdmashuffle.core.config.ConfigCommand;
import io.rdmashuffle.core.doctor.DoctorCommand;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/** {@code java -jar} of a plugin jar: the commands that need no engine. */
public final class Main {

    private Main() {}

    public static void main(String[] arguments) throws IOException {
        List<String> rest = Arrays.asList(arguments).subList(Math.min(1, arguments.length), arguments.length);
        switch (arguments.length == 0 ? "" : arguments[0]) {
            case "doctor" -> System.exit(DoctorCommand.run(rest, System.out, System.err));
            case "config" -> System.exit(ConfigCommand.run(rest, System.out, System.err));
            default -> {
                System.err.println("usage: java -jar JAR doctor [OPTION…] | config [--markdown | --json FILE]");
                System.exit(2);
            }
        }
    }
}
