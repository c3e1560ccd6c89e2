package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** A NodeManager in a process of its own. One thread. */
public final class NodeManagerProcess implements AutoCloseable {

    private static final int STOP_LIMIT_SECONDS = 30;

    private final Path directory;
    private final Path logs;
    private final String classPath;
    private final Map<String, String> environment;
    private final String host;
    private final Configuration settings;
    private Process process;

    NodeManagerProcess(
            Path directory,
            Path logs,
            String host,
            Configuration settings,
            String classPath,
            Map<String, String> environment)
            throws IOException {
        this.directory = Files.createDirectories(directory);
        this.logs = Files.createDirectories(logs);
        this.host = host;
        this.classPath = classPath;
        this.environment = environment;
        this.settings = settings;
        complete();
    }

    void start() throws IOException {
        // each overrides the defaults of its part of Hadoop only
        for (String file : List.of("core-site.xml", "yarn-site.xml", "mapred-site.xml")) {
            try (OutputStream out = Files.newOutputStream(directory.resolve(file))) {
                settings.writeXml(out);
            }
        }
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

    /** Ends it at once, as {@code kill -9} does; its containers live on. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** See {@link MiniCluster#restart}; waits until it serves map outputs. */
    void restart(Map<String, String> changed) throws IOException, InterruptedException, TimeoutException {
        close();
        changed.forEach(settings::set);
        start();
        long deadline = System.nanoTime() + MiniCluster.START_LIMIT.toNanos();
        while (!serves()) {
            if (System.nanoTime() - deadline > 0 || !isAlive()) {
                throw new TimeoutException("a NodeManager did not start again; log: " + log());
            }
            Thread.sleep(100);
        }
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    public long pid() {
        return process.pid();
    }

    public Path log() {
        return logs.resolve("nodemanager.log");
    }

    /** Where its pages are, {@code /jmx} among them. */
    public String webAddress() {
        return settings.get(YarnConfiguration.NM_WEBAPP_ADDRESS);
    }

    public Path directory() {
        return directory;
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                kill();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private boolean serves() {
        int port = settings.getInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, 0);
        try (Socket socket = new Socket(host, port)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false; // not yet
        }
    }

    private void complete() {
        for (String address : List.of(
                YarnConfiguration.NM_ADDRESS,
                YarnConfiguration.NM_LOCALIZER_ADDRESS,
                YarnConfiguration.NM_WEBAPP_ADDRESS,
                YarnConfiguration.NM_COLLECTOR_SERVICE_ADDRESS)) {
            settings.setSocketAddr(address, InetSocketAddress.createUnresolved(host, MiniCluster.freePort()));
        }
        settings.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, MiniCluster.freePort());
        settings.set(YarnConfiguration.NM_LOCAL_DIRS, directory.resolve("local").toString());
        settings.set(YarnConfiguration.NM_LOG_DIRS, logs.resolve("containers").toString());
        settings.set(
                YarnConfiguration.NM_RECOVERY_DIR, directory.resolve("recovery").toString());
        settings.setInt(YarnConfiguration.NM_PMEM_MB, 4096);
        settings.setBoolean(YarnConfiguration.NM_CONTAINER_MONITOR_ENABLED, false);
        settings.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
    }
}
