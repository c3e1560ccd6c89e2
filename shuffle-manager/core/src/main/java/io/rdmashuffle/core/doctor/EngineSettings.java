package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.config.RdmaConfig;
import java.io.File;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The engine's settings as far as they can be known here.
 *
 * @param source where they are from, for people
 * @param values full name to text
 * @param localDirectories where map outputs are written
 */
public record EngineSettings(String source, Map<String, String> values, List<Path> localDirectories) {

    /** Of our own settings. */
    static final String PREFIX = "spark.shuffle.rdma.";

    /** What Spark would take from spark-defaults.conf and the environment of this process. */
    static EngineSettings ofThisHost(Map<String, String> environment) throws IOException {
        Optional<Path> file = sparkDefaults(environment).filter(Files::isRegularFile);
        return file.isPresent()
                ? ofFile(file.get(), environment)
                : new EngineSettings("no spark-defaults.conf here", Map.of(), localDirectories(environment, Map.of()));
    }

    /** Those of a file in the format of spark-defaults.conf. */
    static EngineSettings ofFile(Path file, Map<String, String> environment) throws IOException {
        Map<String, String> values = read(file);
        return new EngineSettings(file.toString(), values, localDirectories(environment, values));
    }

    /** Ours among them; the defaults when one of them is wrong, which the settings check tells. */
    RdmaConfig config() {
        try {
            return new RdmaConfig(PREFIX, values);
        } catch (IllegalArgumentException e) {
            return new RdmaConfig(PREFIX, Map.of());
        }
    }

    EngineSettings withLocalDirectories(List<Path> directories) {
        return new EngineSettings(source, values, directories);
    }

    /** In Spark's own order of precedence (Utils.getConfiguredLocalDirs). */
    public static List<Path> localDirectories(Map<String, String> environment, Map<String, String> values) {
        String directories = Stream.of(
                        environment.get("LOCAL_DIRS"), // set by YARN for containers
                        environment.get("SPARK_LOCAL_DIRS"),
                        values.get("spark.local.dir"),
                        System.getProperty("java.io.tmpdir"))
                .filter(Objects::nonNull)
                .findFirst()
                .orElseThrow();
        return Stream.of(directories.split(",")).map(Path::of).toList();
    }

    private static Optional<Path> sparkDefaults(Map<String, String> environment) {
        return Optional.ofNullable(environment.get("SPARK_CONF_DIR"))
                .or(() ->
                        Optional.ofNullable(environment.get("SPARK_HOME")).map(home -> home + File.separator + "conf"))
                .map(directory -> Path.of(directory, "spark-defaults.conf"));
    }

    private static Map<String, String> read(Path file) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        }
        Map<String, String> values = new TreeMap<>();
        properties
                .stringPropertyNames()
                .forEach(name -> values.put(name, properties.getProperty(name).strip()));
        return values;
    }
}
