package io.rdmashuffle.spark.yarn;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.rdmashuffle.core.config.RdmaConfig;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.JsonSerialization;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.crypto.AuthServerBootstrap;
import org.apache.spark.network.sasl.ShuffleSecretManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.AppsWithRecoveryDisabled;
import org.apache.spark.network.shuffle.MergedShuffleFileManager;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Spark's external shuffle service in the NodeManager, which also serves map outputs over RDMA, so that executors may leave. Set as
 * {@code yarn.nodemanager.aux-services.spark_shuffle.class} in place of Spark's YarnShuffleService, and made of the same parts of
 * Spark: port, protocol and authentication are those of Spark's. Nothing that goes wrong with RDMA may keep it from serving over TCP.
 */
public final class RdmaYarnShuffleService extends AuxiliaryService {

    private static final Logger LOG = LoggerFactory.getLogger(RdmaYarnShuffleService.class);
    private static final String RECOVERY_DISABLED = "spark.yarn.shuffle.server.recovery.disabled";
    private static final String PREFIX = "spark.shuffle.rdma.";
    private static final int DEFAULT_PORT = 7337; // Spark's

    private final ShuffleSecretManager secrets = new ShuffleSecretManager();
    private boolean authenticates;
    private SecretFiles secretFiles; // null when nothing is to be recovered
    private org.apache.hadoop.fs.Path recoveryPath; // null when the NodeManager recovers nothing
    private ServedApplications applications;
    private RdmaBlockHandler handler;
    private TransportContext transport;
    private TransportServer server;

    /** Made by the NodeManager. */
    public RdmaYarnShuffleService() {
        super("spark_shuffle");
    }

    @Override
    public void setRecoveryPath(org.apache.hadoop.fs.Path path) {
        recoveryPath = path;
    }

    /** Binds the port: executors that are started next must find it. */
    @Override
    protected void serviceInit(Configuration given) throws Exception {
        Configuration conf = new Configuration(given);
        URL overlay =
                Thread.currentThread().getContextClassLoader().getResource("spark-shuffle-site.xml"); // as Spark's
        if (overlay != null) {
            conf.addResource(overlay);
        }
        super.serviceInit(conf);
        TransportConf settings = new TransportConf("shuffle", new MapConfigProvider(sparkSettings(conf)));
        authenticates = conf.getBoolean("spark.authenticate", false);
        if (authenticates && recoveryPath != null) {
            secretFiles = new SecretFiles(recoveryFile("rdmaShuffleSecrets").toPath());
            secretFiles.load().forEach(secrets::registerApp);
        }
        applications = ServedApplications.start(rdmaSettings(conf), host(conf));
        handler = new RdmaBlockHandler(
                settings, recoveryFile("rdmaShuffleExecutors"), mergedFiles(settings), applications, localDirs(conf));
        transport = new TransportContext(settings, handler, true);
        server = transport.createServer(
                conf.getInt("spark.shuffle.service.port", DEFAULT_PORT),
                authenticates ? List.of(new AuthServerBootstrap(settings, secrets)) : List.of());
        LOG.info(
                "RDMA shuffle: Spark's shuffle service on port {}, authentication {}",
                server.getPort(),
                authenticates ? "on" : "off");
    }

    /** Called before each container of an application that uses the service. */
    @Override
    public void initializeApplication(ApplicationInitializationContext context) {
        String appId = context.getApplicationId().toString();
        if (authenticates) {
            letIn(appId, secretOf(appId, JavaUtils.bytesToString(context.getApplicationDataForService())));
        }
        applications.begin(appId);
    }

    /** Called when the application has ended. */
    @Override
    public void stopApplication(ApplicationTerminationContext context) {
        String appId = context.getApplicationId().toString();
        secrets.unregisterApp(appId);
        AppsWithRecoveryDisabled.removeApp(appId);
        applications.end(appId);
        handler.applicationRemoved(appId, false); // the files are YARN's to delete
        try {
            if (secretFiles != null) {
                secretFiles.remove(appId);
            }
        } catch (IOException e) {
            LOG.error("the secret of {} was not removed", appId, e);
        }
    }

    /** @param secret null when the application gave none */
    private void letIn(String appId, String secret) {
        if (secret == null) {
            LOG.warn("{} gave no secret: its executors are not let in; set spark.authenticate=true for it", appId);
            return;
        }
        secrets.registerApp(appId, secret);
        try {
            if (secretFiles != null && AppsWithRecoveryDisabled.isRecoveryEnabledForApp(appId)) {
                secretFiles.put(appId, secret);
            }
        } catch (IOException e) {
            LOG.error("{} cannot go on when the NodeManager starts again: its secret was not kept", appId, e);
        }
    }

    /**
     * Spark gives the secret as it is, or as JSON with {@code spark.yarn.shuffle.server.recovery.disabled}, of an application that wants
     * nothing of it kept: Spark's YarnShuffleService, since 3.5.
     */
    private static String secretOf(String appId, String given) {
        if (!given.startsWith("{")) {
            return given;
        }
        try {
            Map<?, ?> fields = new JsonSerialization<>(Map.class, false, false)
                    .fromJsonStream(new ByteArrayInputStream(given.getBytes(UTF_8)));
            if (Boolean.TRUE.equals(fields.get(RECOVERY_DISABLED))) {
                AppsWithRecoveryDisabled.disableRecoveryOfApp(appId);
            }
            return fields.get("secret") instanceof String secret ? secret : null;
        } catch (IOException e) {
            return given; // a secret that looks like JSON; not logged
        }
    }

    @Override
    public ByteBuffer getMetaData() {
        return ByteBuffer.allocate(0);
    }

    @Override
    protected void serviceStop() throws Exception {
        for (AutoCloseable part :
                new AutoCloseable[] {server, transport, handler == null ? null : handler::close, applications}) {
            if (part != null) {
                part.close();
            }
        }
        super.serviceStop();
    }

    /** The port that is listened on. */
    int port() {
        return server.getPort();
    }

    private File recoveryFile(String name) {
        return recoveryPath == null ? null : new File(recoveryPath.toUri().getPath(), name);
    }

    private static Map<String, String> sparkSettings(Configuration conf) {
        Map<String, String> settings = new HashMap<>();
        conf.getPropsWithPrefix("spark.")
                .keySet()
                .forEach(name -> settings.put("spark." + name, conf.get("spark." + name)));
        return settings;
    }

    /** A wrong setting is no reason to serve nothing at all. */
    private static RdmaConfig rdmaSettings(Configuration conf) {
        Map<String, String> given = sparkSettings(conf);
        given.keySet().removeIf(name -> !name.startsWith(PREFIX));
        try {
            return new RdmaConfig(PREFIX, given);
        } catch (IllegalArgumentException e) {
            LOG.error("RDMA shuffle: map outputs of Spark are served over TCP only", e);
            return new RdmaConfig(PREFIX, Map.of(PREFIX + "mode", "off"));
        }
    }

    /** For push-based shuffle, as Spark's service makes it. */
    private MergedShuffleFileManager mergedFiles(TransportConf settings) throws ReflectiveOperationException {
        return Class.forName(
                        settings.mergedShuffleFileManagerImpl(),
                        true,
                        getClass().getClassLoader())
                .asSubclass(MergedShuffleFileManager.class)
                .getConstructor(TransportConf.class, File.class)
                .newInstance(settings, recoveryFile("rdmaShuffleMerged"));
    }

    private static List<Path> localDirs(Configuration conf) {
        return Arrays.stream(conf.getTrimmedStrings(YarnConfiguration.NM_LOCAL_DIRS))
                .map(dir -> Path.of(new org.apache.hadoop.fs.Path(dir).toUri().getPath())
                        .normalize())
                .toList();
    }

    /** What YARN calls this host. */
    private static String host(Configuration conf) throws IOException {
        InetSocketAddress address = conf.getSocketAddr(
                YarnConfiguration.NM_BIND_HOST,
                YarnConfiguration.NM_ADDRESS,
                YarnConfiguration.DEFAULT_NM_ADDRESS,
                YarnConfiguration.DEFAULT_NM_PORT);
        boolean wildcard = address.isUnresolved() || address.getAddress().isAnyLocalAddress();
        return wildcard ? InetAddress.getLocalHost().getHostName() : address.getHostString();
    }
}
