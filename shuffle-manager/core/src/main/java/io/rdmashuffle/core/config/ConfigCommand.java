package io.rdmashuffle.core.config;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** {@code bin/rdma-shuffle config}: prints every setting, for people, for programs or as the page docs/configuration.md. */
public final class ConfigCommand {

    private static final String SPARK_PREFIX = "spark.shuffle.rdma.";

    private static final String HADOOP_NAMES =
            "Hadoop MapReduce has the same settings as `mapreduce.shuffle.rdma.*`, but for directory.*, inFlight.*,\n"
                    + "offsetsCache.*, staging.* and withdraw.*, which it takes and has no use for.";

    private static final String USAGE = """
            usage: config [--markdown | --json FILE]    every setting with type, default, range, meaning

              --markdown     as the page docs/configuration.md
              --json FILE    for programs
            """;

    private ConfigCommand() {}

    /** @return the exit code: 0, or 2 for a wrong usage */
    public static int run(List<String> arguments, PrintStream out, PrintStream err) throws IOException {
        switch (String.join(" ", arguments.subList(0, Math.min(1, arguments.size())))) {
            case "" -> out.print(text());
            case "--markdown" -> out.print(markdown());
            case "--help", "-h" -> out.print(USAGE);
            case "--json" -> {
                if (arguments.size() < 2) {
                    err.println("config: --json wants a file; see config --help");
                    return 2;
                }
                Files.writeString(Path.of(arguments.get(1)), json());
            }
            default -> {
                err.println("config: unknown option '" + arguments.get(0) + "'; see config --help");
                return 2;
            }
        }
        return 0;
    }

    static String markdown() {
        StringBuilder page = new StringBuilder("# Configuration\n\n"
                + "Written by `bin/rdma-shuffle config --markdown`. Sizes take k, m, g, t; times take ms, s, min. An unknown\n"
                + "`" + SPARK_PREFIX + "*` name or a value out of range stops the application at its start.\n"
                + HADOOP_NAMES + "\n\n"
                + "| setting | type | default | range | since | meaning |\n|---|---|---|---|---|---|\n");
        for (Setting<?> setting : RdmaConfig.table()) {
            page.append(String.format(
                    "| `%s%s` | %s | `%s` | %s | %s | %s |%n",
                    SPARK_PREFIX,
                    setting.name(),
                    setting.type(),
                    setting.defaultText(),
                    setting.range(),
                    setting.since(),
                    setting.meaning()));
        }
        return page.toString();
    }

    private static String text() {
        StringBuilder page = new StringBuilder(HADOOP_NAMES + "\n\n");
        for (Setting<?> setting : RdmaConfig.table()) {
            page.append(String.format(
                    "%s%s  (%s, default %s; %s)%n    %s%n",
                    SPARK_PREFIX,
                    setting.name(),
                    setting.type(),
                    setting.defaultText(),
                    setting.range(),
                    setting.meaning()));
        }
        return page.toString();
    }

    private static String json() {
        return Json.write(RdmaConfig.table().stream()
                        .map(setting -> {
                            Map<String, Object> fields = new LinkedHashMap<>();
                            fields.put("name", SPARK_PREFIX + setting.name());
                            fields.put("type", setting.type());
                            fields.put("default", setting.defaultText());
                            fields.put("range", setting.range());
                            fields.put("since", setting.since());
                            fields.put("meaning", setting.meaning());
                            return fields;
                        })
                        .toList())
                + "\n";
    }
}
