package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** A NodeManager in a process of its own. One thread. */
public final class NodeManagerProcess implements AutoCloseable {

    private final Path directory;
    private final String classPath;
    private final Map<String, String> environment;
    private final String host;
    private Process process;

    NodeManagerProcess(
            Path directory, String host, Configuration settings, String classPath, Map<String, String> environment)
            throws IOException {
        this.directory = Files.createDirectories(directory);
        this.host = host;
        this.classPath = classPath;
        this.environment = environment;
        complete(settings);
        // each overrides the defaults of its part of Hadoop only
        for (String file : List.of("core-site.xml", "yarn-site.xml", "mapred-site.xml")) {
            try (OutputStream out = Files.newOutputStream(directory.resolve(file))) {
                settings.writeXml(out);
            }
        }
    }

    void start() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                NodeManager.class.getName());
        builder.environment().put("CLASSPATH", directory + ":" + classPath);
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().putAll(environment);
        builder.directory(directory.toFile());
        builder.redirectErrorStream(true);
        builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()));
        process = builder.start();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    public long pid() {
        return process.pid();
    }

    public Path log() {
        return directory.resolve("nodemanager.log");
    }

    @Override
    public void close() {
        process.destroy();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private void complete(Configuration settings) {
        for (String address : List.of(
                YarnConfiguration.NM_ADDRESS,
                YarnConfiguration.NM_LOCALIZER_ADDRESS,
                YarnConfiguration.NM_WEBAPP_ADDRESS,
                YarnConfiguration.NM_COLLECTOR_SERVICE_ADDRESS)) {
            settings.setSocketAddr(address, InetSocketAddress.createUnresolved(host, MiniCluster.freePort()));
        }
        settings.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, MiniCluster.freePort());
        settings.set(YarnConfiguration.NM_AUX_SERVICES, ShuffleHandler.MAPREDUCE_SHUFFLE_SERVICEID);
        settings.set(YarnConfiguration.NM_LOCAL_DIRS, directory.resolve("local").toString());
        settings.set(YarnConfiguration.NM_LOG_DIRS, directory.resolve("logs").toString());
        settings.setInt(YarnConfiguration.NM_PMEM_MB, 2048);
        settings.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
        settings.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
        settings.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
    }
}
