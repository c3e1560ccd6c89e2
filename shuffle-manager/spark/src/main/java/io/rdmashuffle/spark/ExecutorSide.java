package io.rdmashuffle.spark;

import io.rdmashuffle.core.RdmaNode;
import io.rdmashuffle.core.RdmaUnavailableException;
import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.DriverChannel;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackLog;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.core.publish.ProbedDirectory;
import io.rdmashuffle.verbs.Version;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.BlockManagerId;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an executor does: takes part with an {@link RdmaNode}, or knows why it cannot. Nothing here may keep an executor from
 * working over TCP, unless {@code mode=required}. Any thread.
 */
final class ExecutorSide implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ExecutorSide.class);

    private final Mode mode;
    private final Counters counters;
    private final FallbackLog fallbacks;
    private final RdmaNode node; // null when this executor has no RDMA
    private final ServedPublisher served; // null without an external shuffle service
    private final FallbackReason whyNot;
    private final String cause;
    private final RdmaBlockStoreClient client;
    private final FigureReports reports;

    private ExecutorSide(
            Mode mode,
            Counters counters,
            DirectoryClient directory, // null when the driver cannot be reached
            RdmaNode node,
            ServedPublisher served,
            FallbackReason whyNot,
            String cause,
            SparkEnv env) {
        this.mode = mode;
        this.counters = counters;
        this.fallbacks = new FallbackLog(counters);
        this.node = node;
        this.served = served;
        this.whyNot = whyNot;
        this.cause = cause;
        this.client = new RdmaBlockStoreClient(
                env.blockManager().blockStoreClient(), this, SparkSettings.transport(env.conf()));
        this.reports = new FigureReports(
                counters::snapshot, directory == null ? figures -> {} : directory::report, System::nanoTime);
        env.metricsSystem().registerSource(new FiguresSource(counters::snapshot));
    }

    /** Opens the device and says hello to the driver; says in one log line which transport is used and why. */
    static ExecutorSide start(SparkEnv env, SparkConf conf, RdmaConfig config) {
        Mode mode = config.get(RdmaConfig.MODE);
        Counters counters = new Counters();
        long incarnation = new SecureRandom().nextLong();
        long timeoutMillis = config.get(RdmaConfig.DIRECTORY_TIMEOUT_MILLIS);
        DirectoryClient directory = null;
        FallbackReason reason = FallbackReason.UNAVAILABLE;
        String cause;
        try {
            DriverChannel driver = connectDriver(env, conf);
            directory = new DirectoryClient(driver, incarnation, timeoutMillis, SparkSettings.secret(env));
            if (SparkSettings.wantsEncryption(conf, config)) {
                reason = FallbackReason.ENCRYPTION;
                cause = "connections are to be encrypted, which RDMA cannot do;"
                        + " set spark.io.encryption.enabled or spark.shuffle.rdma.allowCleartext=true";
            } else if (SparkSettings.usesOldFetchProtocol(conf)) {
                cause = "spark.shuffle.useOldFetchProtocol=true gives map outputs no unique names; set it to false";
            } else {
                RdmaNode node = RdmaNode.open(
                        env.executorId(),
                        incarnation,
                        env.blockManager().blockManagerId().host(),
                        directory,
                        config,
                        counters);
                LOG.info(
                        "RDMA shuffle {}: transport rdma, device {}, addresses {}",
                        Version.text(),
                        node.device(),
                        node.addresses());
                List<ProbedDirectory> probed = node.probe(localDirectories(env));
                LOG.debug("local directories {}", probed);
                ServedPublisher served = servedPublisher(env, conf, node, driver, timeoutMillis, counters);
                return new ExecutorSide(mode, counters, directory, node, served, null, "", env);
            }
        } catch (RdmaUnavailableException | IOException | RuntimeException | LinkageError e) {
            if (Thread.currentThread().isInterrupted()) { // says nothing of RDMA: the next task starts it
                throw new IllegalStateException("the task was interrupted while RDMA was being started", e);
            }
            LOG.debug("no RDMA", e);
            cause = e.getMessage() == null ? e.toString() : e.getMessage();
        }
        LOG.info("RDMA shuffle {}: transport tcp, because {}", Version.text(), cause);
        tellWhyNot(directory, env.executorId(), incarnation, cause);
        return new ExecutorSide(mode, counters, directory, null, null, reason, cause, env);
    }

    Mode mode() {
        return mode;
    }

    Counters counters() {
        return counters;
    }

    FallbackLog fallbacks() {
        return fallbacks;
    }

    /** Null when this executor has no RDMA: {@link #whyNot} and {@link #cause} say why. */
    RdmaNode node() {
        return node;
    }

    FallbackReason whyNot() {
        return whyNot;
    }

    String cause() {
        return cause;
    }

    RdmaBlockStoreClient client() {
        return client;
    }

    /**
     * Publishes a committed map output, by the shuffle service of this host if it serves over RDMA; one that cannot be is read over TCP.
     * Does not wait for the driver, who will know of it before it learns, by a later message from here, that the map output exists.
     *
     * @param partitionLengths bytes of each reduce partition; their sum is the file's length
     * @throws IllegalStateException in {@code mode=required}, when it cannot be registered; what the driver does not confirm fails where it is
     *     read, and Spark makes it again
     */
    void publish(int shuffleId, long mapId, Path dataFile, long[] partitionLengths) {
        if (node == null || Arrays.stream(partitionLengths).sum() == 0) {
            return; // without bytes there is no data file, and no reader will ask
        }
        try {
            CompletableFuture<Void> confirmed =
                    served == null ? null : served.publish(shuffleId, mapId, partitionLengths.length);
            if (confirmed == null) {
                confirmed = node.publisher().publish(shuffleId, mapId, dataFile, partitionLengths);
            }
            confirmed.exceptionally(e -> {
                recordUnconfirmed(shuffleId, NotPublishedException.of(e));
                return null;
            });
        } catch (NotPublishedException e) {
            if (mode == Mode.REQUIRED) {
                throw new IllegalStateException(new RdmaRequiredException(e.reason(), e.getMessage()));
            }
            record(e);
        }
    }

    private void recordUnconfirmed(int shuffleId, NotPublishedException e) {
        if (mode == Mode.REQUIRED) {
            LOG.warn("RDMA shuffle: a map output of shuffle {} is to be made again: {}", shuffleId, e.getMessage());
        } else {
            record(e);
        }
    }

    private void record(NotPublishedException e) {
        fallbacks.record("map outputs of this executor", e.reason(), 1, e.getMessage());
    }

    void removeShuffle(int shuffleId) {
        if (node != null) {
            node.removeShuffle(shuffleId);
        }
        if (served != null) {
            served.removeShuffle(shuffleId);
        }
    }

    FigureReports reports() {
        return reports;
    }

    @Override
    public void close() {
        if (node != null) {
            node.close();
        }
        client.close();
    }

    private static List<Path> localDirectories(SparkEnv env) {
        return Arrays.stream(env.blockManager().diskBlockManager().localDirs())
                .map(File::toPath)
                .toList();
    }

    /** Null without an external shuffle service. */
    private static ServedPublisher servedPublisher(
            SparkEnv env, SparkConf conf, RdmaNode node, DriverChannel driver, long timeoutMillis, Counters counters) {
        if (!conf.getBoolean("spark.shuffle.service.enabled", false)) {
            return null;
        }
        return new ServedPublisher(
                () -> connectService(env.blockManager()),
                conf.getAppId(),
                env.executorId(),
                node.secret(),
                driver,
                timeoutMillis,
                counters);
    }

    private static TransportClient connectService(BlockManager blockManager) throws IOException {
        BlockManagerId service = blockManager.shuffleServerId();
        return SparkCompat.connect(blockManager.blockStoreClient(), service.host(), service.port());
    }

    private static DriverChannel connectDriver(SparkEnv env, SparkConf conf) throws IOException {
        try {
            return new SparkDriverChannel(conf, env.rpcEnv());
        } catch (Exception e) { // Scala throws checked ones, too
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            throw new IOException("the driver has no rdma-shuffle directory: " + e.getMessage(), e);
        }
    }

    private static void tellWhyNot(DirectoryClient directory, String executorId, long incarnation, String cause) {
        if (directory == null) {
            return;
        }
        try {
            directory.hello(new Message.Hello(executorId, incarnation, null, "", cause));
        } catch (IOException e) {
            LOG.debug("the driver was not told", e);
        }
    }
}
