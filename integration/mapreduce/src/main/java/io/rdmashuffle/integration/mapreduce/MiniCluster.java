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

    /** Seconds on a quiet machine; minutes in an emulated one. */
    static final Duration START_LIMIT = Duration.ofMinutes(10);

    private final Path templates;
    private final Path directory;
    private final Path logs;
    private final Map<String, String> environment;
    private final String classPath;
    private final Configuration conf;
    private final ResourceManager resourceManager = new ResourceManager();
    private final JobHistoryServer history = new JobHistoryServer();
    private final List<NodeManagerProcess> nodes = new ArrayList<>();

    /**
     * @param root of the project, whose templates in conf are what an operator copies
     * @param classPath of NodeManagers and tasks: our jar, the jobs, and Hadoop
     * @param directory for the cluster's files
     * @param logs for those of NodeManagers and containers
     * @param host of ResourceManager and JobHistoryServer
     * @param environment of NodeManagers and tasks, beside what they have anyway
     */
    public MiniCluster(
            Path root, String classPath, Path directory, Path logs, String host, Map<String, String> environment)
            throws IOException {
        this.templates = root.resolve("conf");
        this.directory = Files.createDirectories(directory);
        this.logs = logs;
        this.environment = Map.copyOf(environment);
        this.classPath = classPath;
        this.conf = settings(host);
    }

    /** Starts the masters; {@link #startNode} comes next, and then {@link #awaitNodes}. */
    public void start() {
        resourceManager.init(conf);
        resourceManager.start();
        history.init(conf);
        history.start();
    }

    /**
     * Starts a NodeManager.
     *
     * @param settings of this one, beside the common ones
     */
    public NodeManagerProcess startNode(String host, Map<String, String> settings) throws IOException {
        Configuration own = new Configuration(conf);
        settings.forEach(own::set);
        String name = "node" + nodes.size();
        NodeManagerProcess node =
                new NodeManagerProcess(directory.resolve(name), logs.resolve(name), host, own, classPath, environment);
        nodes.add(node);
        node.start();
        return node;
    }

    /**
     * Ends a NodeManager if it runs, and starts it again with its ports, directories and recovery state; waits until it serves map
     * outputs and has registered.
     *
     * @param changed settings, beside those it had
     */
    public void restart(NodeManagerProcess node, Map<String, String> changed)
            throws IOException, InterruptedException, TimeoutException {
        node.restart(changed);
        awaitNodes();
    }

    /** Waits until all NodeManagers have registered. */
    public void awaitNodes() throws InterruptedException, TimeoutException {
        long deadline = System.nanoTime() + START_LIMIT.toNanos();
        while (runningNodes() < nodes.size()) {
            for (NodeManagerProcess node : nodes) {
                if (System.nanoTime() - deadline > 0 || !node.isAlive()) {
                    throw new TimeoutException("a NodeManager did not start; log: " + node.log());
                }
            }
            Thread.sleep(100);
        }
    }

    /** What a job on this cluster is set with, with Hadoop's shuffle; a copy. */
    public Configuration jobSettings() {
        return new Configuration(conf);
    }

    /** The same with our shuffle. */
    public Configuration ourJobSettings() {
        Configuration ours = jobSettings();
        ours.addResource(template("mapred-site.xml.template"));
        return ours;
    }

    /** NodeManagers that the ResourceManager sees running. */
    private int runningNodes() {
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

    private Configuration settings(String host) {
        Configuration settings = new YarnConfiguration();
        settings.set("fs.defaultFS", "file:///");
        LocalFiles.use(settings);
        settings.set("hadoop.tmp.dir", directory.resolve("tmp").toString());
        settings.set(MRJobConfig.MR_AM_STAGING_DIR, directory.resolve("staging").toString());
        settings.set(MRConfig.FRAMEWORK_NAME, MRConfig.YARN_FRAMEWORK_NAME);
        settings.set(MRJobConfig.MAPREDUCE_APPLICATION_CLASSPATH, classPath.replace(':', ','));
        settings.set(YarnConfiguration.YARN_APPLICATION_CLASSPATH, classPath.replace(':', ','));
        settings.setBoolean(YarnConfiguration.NM_RECOVERY_ENABLED, true);
        settings.addResource(template("yarn-site.xml.template"));
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
        settings.setInt("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", 200);
        settings.setInt(MRJobConfig.MR_AM_TO_RM_HEARTBEAT_INTERVAL_MS, 300);
        settings.setInt("mapreduce.client.completion.pollinterval", 400);
        settings.setInt("mapreduce.client.progressmonitor.pollinterval", 400);
        settings.set("yarn.scheduler.capacity.root.queues", "default");
        settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
        settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
        settings.set("yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled", "false");
    }

    private org.apache.hadoop.fs.Path template(String name) {
        return new org.apache.hadoop.fs.Path(templates.resolve(name).toUri());
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
        // tests count attempts
        settings.setBoolean(MRJobConfig.MAP_SPECULATIVE, false);
        settings.setBoolean(MRJobConfig.REDUCE_SPECULATIVE, false);
        String variables = environment.entrySet().stream().map(Object::toString).collect(Collectors.joining(","));
        for (String task : List.of(MRJobConfig.MR_AM_ENV, MRJobConfig.MAP_ENV, MRJobConfig.REDUCE_ENV)) {
            settings.set(task, variables);
        }
    }
}
