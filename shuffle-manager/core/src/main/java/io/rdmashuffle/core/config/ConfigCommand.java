package io.rdmashuffle.core.config;

import java.util.List;

/** {@code bin/rdma-shuffle config}: prints every setting, for people or as the page docs/configuration.md. */
public final class ConfigCommand {

    private static final String SPARK_PREFIX = "spark.shuffle.rdma.";

    private static final String HADOOP_NAMES =
            "Hadoop MapReduce has the same settings as `mapreduce.shuffle.rdma.*`, but for directory.* and inFlight.*.";

    private ConfigCommand() {}

    public static void main(String[] args) {
        boolean asMarkdown = List.of(args).contains("--markdown");
        System.out.print(asMarkdown ? markdown() : text());
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
}
