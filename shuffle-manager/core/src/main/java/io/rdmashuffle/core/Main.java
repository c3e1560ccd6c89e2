package io.rdmashuffle.core;

import io.rdmashuffle.core.config.ConfigCommand;
import io.rdmashuffle.core.doctor.DoctorCommand;
import java.util.Arrays;
import java.util.List;

/** {@code java -jar} of a plugin jar: the commands that need no engine. */
public final class Main {

    private Main() {}

    public static void main(String[] arguments) {
        List<String> rest = Arrays.asList(arguments).subList(Math.min(1, arguments.length), arguments.length);
        switch (arguments.length == 0 ? "" : arguments[0]) {
            case "doctor" -> System.exit(DoctorCommand.run(rest, System.out, System.err));
            case "config" -> ConfigCommand.main(rest.toArray(new String[0]));
            default -> {
                System.err.println("usage: java -jar JAR doctor [OPTION…] | config [--markdown]");
                System.exit(2);
            }
        }
    }
}
