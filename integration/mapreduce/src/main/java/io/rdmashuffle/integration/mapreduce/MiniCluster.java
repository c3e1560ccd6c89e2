package io.rdmashuffle.integration.mapreduce;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer;
import org.apache.hadoop.mapreduce.v2.jobhistory.JHAdminConfig;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;

/**
 * A YARN cluster of one machine: ResourceManager and JobHistoryServer in this JVM, each NodeManager in a process of its own, tasks
 * in processes of theirs, the local file system as the default one. Closes what it started. One thread.
 */
public final class MiniCluster implements AutoCloseable {

    /** Names the class of a NodeManager's shuffle service. */
    public static final String SHUFFLE_HANDLER =
            YarnConfiguration.NM_AUX_SERVICES + "." + ShuffleHandler.MAPREDUCE_SHUFFLE_SERVICEID + ".class";

    private static final Duration START_LIMIT = Duration.ofSeconds(120);

    private final Path directory;
    private final Map<String, String> environment;
    private final String classPath;
    private final Configuration conf;
    private final ResourceManager resourceManager = new ResourceManager();
    private final JobHistoryServer history = new JobHistoryServer();
    private final List<NodeManagerProcess> nodes = new ArrayList<>();

    /**
     * @param root of the project, where the jars were built
     * @param version of the jars
     * @param directory for all files of the cluster
     * @param host of ResourceManager and JobHistoryServer
     * @param environment of NodeManagers and tasks, beside what they have anyway
     */
    public MiniCluster(Path root, String version, Path directory, String host, Map<String, String> environment)
            throws IOException {
        this.directory = Files.createDirectories(directory);
        this.environment = Map.copyOf(environment);
        this.classPath = String.join(
                ",",
                root.resolve("shuffle-manager/mapreduce/target/rdma-shuffle-mapreduce-" + version + ".jar")
                        .toString(),
                root.resolve("integration/mapreduce/target/classes").toString(),
                root.resolve("integration/mapreduce/target/hadoop/*").toString());
        this.conf = settings(host);
    }

    /** Starts the masters; {@link #startNode} comes next. */
    public void start() {
        resourceManager.init(conf);
        resourceManager.start();
        history.init(conf);
        history.start();
    }

    /**
     * Starts a NodeManager and waits until it has registered.
     *
     * @param settings of this one, beside the common ones
     */
    public NodeManagerProcess startNode(String host, Map<String, String> settings)
            throws IOException, InterruptedException, TimeoutException {
        int others = runningNodes();
        Configuration own = new Configuration(conf);
        settings.forEach(own::set);
        NodeManagerProcess node = new NodeManagerProcess(
                directory.resolve("node" + nodes.size()), host, own, classPath.replace(',', ':'), environment);
        nodes.add(node);
        node.start();
        awaitNodes(others + 1);
        return node;
    }

    /** What a job on this cluster is set with; a copy. */
    public Configuration jobSettings() {
        return new Configuration(conf);
    }

    /** NodeManagers that the ResourceManager sees running. */
    public int runningNodes() {
        return (int) resourceManager.getRMContext().getRMNodes().values().stream()
                .filter(node -> node.getState() == NodeState.RUNNING)
                .count();
    }

    /** Kills NodeManagers that are left, and stops the masters. */
    @Override
    public void close() {
        nodes.forEach(NodeManagerProcess::close);
        history.stop();
        resourceManager.stop();
    }

    /** Below those that the system gives to connections (ip_local_port_range), so that it is still free when it is bound. */
    static int freePort() {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(20_000, 32_000);
            try (ServerSocket socket = new ServerSocket(port)) {
                return socket.getLocalPort();
            } catch (IOException e) {
                continue; // taken
            }
        }
    }

    private void awaitNodes(int count) throws InterruptedException, TimeoutException {
        long deadline = System.nanoTime() + START_LIMIT.toNanos();
        while (runningNodes() < count) {
            if (System.nanoTime() - deadline > 0 || !nodes.get(nodes.size() - 1).isAlive()) {
                throw new TimeoutException("a NodeManager did not start; log: "
                        + nodes.get(nodes.size() - 1).log());
            }
            Thread.sleep(100);
        }
    }

    private Configuration settings(String host) {
        Configuration settings = new YarnConfiguration();
        settings.set("fs.defaultFS", "file:///");
        settings.set("hadoop.tmp.dir", directory.resolve("tmp").toString());
        settings.set(MRJobConfig.MR_AM_STAGING_DIR, directory.resolve("staging").toString());
        settings.set(MRConfig.FRAMEWORK_NAME, MRConfig.YARN_FRAMEWORK_NAME);
        settings.set(MRJobConfig.MAPREDUCE_APPLICATION_CLASSPATH, classPath);
        settings.set(YarnConfiguration.YARN_APPLICATION_CLASSPATH, classPath);
        settings.set(SHUFFLE_HANDLER, "io.rdmashuffle.mapreduce.RdmaShuffleHandler");
        masters(settings, host);
        scheduling(settings);
        tasks(settings);
        return settings;
    }

    private static void masters(Configuration settings, String host) {
        for (String address : List.of(
                YarnConfiguration.RM_ADDRESS,
                YarnConfiguration.RM_ADMIN_ADDRESS,
                YarnConfiguration.RM_SCHEDULER_ADDRESS,
                YarnConfiguration.RM_RESOURCE_TRACKER_ADDRESS,
                YarnConfiguration.RM_WEBAPP_ADDRESS,
                JHAdminConfig.MR_HISTORY_ADDRESS,
                JHAdminConfig.MR_HISTORY_WEBAPP_ADDRESS,
                JHAdminConfig.JHS_ADMIN_ADDRESS)) {
            settings.setSocketAddr(address, InetSocketAddress.createUnresolved(host, freePort()));
        }
    }

    /** So that jobs of seconds do not wait for heartbeats, and tasks spread over the nodes. */
    private static void scheduling(Configuration settings) {
        settings.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 256);
        settings.setInt("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 100);
        settings.setInt(MRJobConfig.MR_AM_TO_RM_HEARTBEAT_INTERVAL_MS, 200);
        settings.setInt("mapreduce.client.completion.pollinterval", 200);
        settings.setInt("mapreduce.client.progressmonitor.pollinterval", 200);
        settings.set("yarn.scheduler.capacity.root.queues", "default");
        settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
        settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
        settings.set("yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled", "false");
    }

    private void tasks(Configuration settings) {
        String jvm = " -XX:TieredStopAtLevel=1 -XX:+UseSerialGC";
        settings.setInt(MRJobConfig.MR_AM_VMEM_MB, 512);
        settings.set(MRJobConfig.MR_AM_COMMAND_OPTS, "-Xmx256m" + jvm);
        settings.setInt(MRJobConfig.MAP_MEMORY_MB, 512);
        settings.set(MRJobConfig.MAP_JAVA_OPTS, "-Xmx256m" + jvm);
        settings.setInt(MRJobConfig.REDUCE_MEMORY_MB, 512);
        settings.set(MRJobConfig.REDUCE_JAVA_OPTS, "-Xmx256m" + jvm);
        settings.setInt(MRJobConfig.IO_SORT_MB, 64);
        settings.set(
                MRJobConfig.REDUCE_ENV,
                environment.entrySet().stream().map(Object::toString).collect(Collectors.joining(",")));
    }
}
