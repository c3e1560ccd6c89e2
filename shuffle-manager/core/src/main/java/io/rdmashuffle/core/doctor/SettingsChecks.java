package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.doctor.Check.Need;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Settings of the engine that keep a shuffle from RDMA. */
final class SettingsChecks {

    static final List<Check> ALL = List.of(new Check("settings", Need.NOTHING, SettingsChecks::settings));

    private static final String PREFIX = EngineSettings.PREFIX;
    private static final String MANAGER = "io.rdmashuffle.spark.RdmaShuffleManager";

    /** A combination of settings that keeps from RDMA. */
    private record Obstacle(Predicate<Map<String, String>> applies, String what, String remedy) {}

    private static final List<Obstacle> OBSTACLES = List.of(
            new Obstacle(
                    settings -> !settings.getOrDefault("spark.shuffle.manager", MANAGER)
                            .equals(MANAGER),
                    "spark.shuffle.manager is another one",
                    "set spark.shuffle.manager=" + MANAGER),
            new Obstacle(
                    settings -> settings.getOrDefault(PREFIX + "mode", "").equalsIgnoreCase("off"),
                    PREFIX + "mode=off",
                    "set " + PREFIX + "mode=auto"),
            new Obstacle(
                    SettingsChecks::wantsEncryption,
                    "connections are to be encrypted, which RDMA cannot do",
                    "set spark.io.encryption.enabled=true or " + PREFIX + "allowCleartext=true"),
            new Obstacle(
                    settings -> is(settings, "spark.shuffle.useOldFetchProtocol"),
                    "spark.shuffle.useOldFetchProtocol=true",
                    "set it to false"));

    private SettingsChecks() {}

    private static Finding settings(String name, Examination host) {
        Map<String, String> values = host.settings().values();
        String source = host.settings().source();
        try {
            new RdmaConfig(PREFIX, values);
        } catch (IllegalArgumentException e) {
            return Finding.fail(
                    name, source + ": " + e.getMessage(), "correct it: the application does not start with it");
        }
        List<Obstacle> found = OBSTACLES.stream()
                .filter(obstacle -> obstacle.applies.test(values))
                .toList();
        return found.isEmpty()
                ? Finding.ok(name, source + ": nothing against RDMA")
                : Finding.fail(name, source + ": " + join(found, Obstacle::what), join(found, Obstacle::remedy));
    }

    /** As an executor decides it. */
    private static boolean wantsEncryption(Map<String, String> settings) {
        boolean wire = is(settings, "spark.network.crypto.enabled")
                || is(settings, "spark.authenticate.enableSaslEncryption")
                || is(settings, "spark.ssl.rpc.enabled");
        return wire && !is(settings, "spark.io.encryption.enabled") && !is(settings, PREFIX + "allowCleartext");
    }

    private static boolean is(Map<String, String> settings, String name) {
        return Boolean.parseBoolean(settings.get(name));
    }

    private static String join(List<Obstacle> obstacles, java.util.function.Function<Obstacle, String> part) {
        return obstacles.stream().map(part).collect(Collectors.joining("; "));
    }
}
