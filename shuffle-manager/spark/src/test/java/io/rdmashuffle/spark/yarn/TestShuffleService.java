package io.rdmashuffle.spark.yarn;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.crypto.AuthClientBootstrap;
import org.apache.spark.network.sasl.ShuffleSecretManager;
import org.apache.spark.network.server.NoOpRpcHandler;
import org.apache.spark.network.shuffle.ExecutorDiskUtils;
import org.apache.spark.network.shuffle.protocol.ExecutorShuffleInfo;
import org.apache.spark.network.shuffle.protocol.RegisterExecutor;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/** A NodeManager's service in this process, with authentication and recovery, and what YARN and executors do to it. */
public final class TestShuffleService implements AutoCloseable {

    private static final int SUB_DIRS = 64; // as Spark has: data file and index file are apart
    private static final long TIMEOUT_MILLIS = 20_000;

    private final Path directory;
    private final RdmaYarnShuffleService service = new RdmaYarnShuffleService();

    /**
     * @param directory of all its files; another service on it is the same NodeManager, started again
     * @param more settings
     */
    public TestShuffleService(Path directory, Map<String, String> more) {
        this.directory = directory;
        Configuration conf = new Configuration(false);
        conf.set("yarn.nodemanager.address", "127.0.0.1:0");
        conf.set("yarn.nodemanager.local-dirs", directory.resolve("local").toString());
        conf.set("spark.shuffle.service.port", "0");
        conf.set("spark.authenticate", "true");
        more.forEach(conf::set);
        service.setRecoveryPath(new org.apache.hadoop.fs.Path(directory.toUri()));
        service.init(conf);
        service.start();
    }

    @Override
    public void close() {
        service.stop();
    }

    /** As before the application's first container. */
    public void begin(ApplicationId application) {
        begin(application, secretOf(application));
    }

    /** @param data for the service, as Spark gives it */
    void begin(ApplicationId application, String data) {
        service.initializeApplication(
                new ApplicationInitializationContext("user", application, ByteBuffer.wrap(data.getBytes(UTF_8))));
    }

    void end(ApplicationId application) {
        service.stopApplication(new ApplicationTerminationContext(application));
    }

    static String secretOf(ApplicationId application) {
        return "secret of " + application;
    }

    /** That YARN gives to an executor of the application. */
    public Path localDir(ApplicationId application) {
        return directory.resolve("local/usercache/user/appcache/" + application + "/blockmgr-1");
    }

    /** A map output as Spark commits it: data file, and index file of offsets. */
    public static void write(Path localDir, int shuffleId, long mapId, byte[] data, long... offsets)
            throws IOException {
        String name = "shuffle_" + shuffleId + "_" + mapId + "_0";
        ByteBuffer index = ByteBuffer.allocate(offsets.length * Long.BYTES);
        for (long offset : offsets) {
            index.putLong(offset);
        }
        for (Map.Entry<String, byte[]> file :
                Map.of(name + ".data", data, name + ".index", index.array()).entrySet()) {
            Path path =
                    Path.of(ExecutorDiskUtils.getFilePath(new String[] {localDir.toString()}, SUB_DIRS, file.getKey()));
            Files.createDirectories(path.getParent());
            Files.write(path, file.getValue());
        }
    }

    /** Whether a file of this name is mapped in this process. */
    public static boolean holds(String file) throws IOException {
        return Files.readString(Path.of("/proc/self/maps")).contains(file);
    }

    public Client client(ApplicationId application) throws IOException, InterruptedException {
        return client(application, secretOf(application));
    }

    Client client(ApplicationId application, String secret) throws IOException, InterruptedException {
        return new Client(application, secret);
    }

    /** An executor's connection. */
    public final class Client implements AutoCloseable {

        private final String appId;
        private final TransportContext context;
        private final TransportClient connection;

        private Client(ApplicationId application, String secret) throws IOException, InterruptedException {
            appId = application.toString();
            ShuffleSecretManager secrets = new ShuffleSecretManager();
            secrets.registerApp(appId, secret);
            TransportConf conf = new TransportConf("shuffle", new MapConfigProvider(Map.of()));
            context = new TransportContext(conf, new NoOpRpcHandler(), true);
            connection = context.createClientFactory(List.of(new AuthClientBootstrap(conf, appId, secrets)))
                    .createClient("127.0.0.1", service.port());
        }

        public TransportClient connection() {
            return connection;
        }

        ByteBuffer send(ByteBuffer message) {
            return connection.sendRpcSync(message, TIMEOUT_MILLIS);
        }

        public void register(String execId, Path localDir) {
            ExecutorShuffleInfo info = new ExecutorShuffleInfo(
                    new String[] {localDir.toString()}, SUB_DIRS, "io.rdmashuffle.spark.RdmaShuffleManager");
            send(new RegisterExecutor(appId, execId, info).toByteBuffer());
        }

        ServiceAnswer serve(String execId, int shuffleId, long mapId, int partitions) throws IOException {
            byte[] secret = new byte[ServiceRequest.SECRET_BYTES];
            return ServiceAnswer.decode(
                    send(new ServiceRequest.Serve(appId, execId, secret, shuffleId, mapId, partitions).encode()));
        }

        @Override
        public void close() {
            connection.close();
            context.close();
        }
    }
}
