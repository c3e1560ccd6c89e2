package io.rdmashuffle.mapreduce;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapred.SpillRecord;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.MetricsRecord;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

/**
 * A shuffle handler as a NodeManager runs it, and the local directory with the map outputs it serves. On softverbs, or on the lab's
 * kernel device.
 */
final class TestNodeManager implements AutoCloseable {

    static final String USER = "alice";

    private static final long CLUSTER = 1_700_000_000_000L;

    private final Path folder;
    private final Configuration conf = new Configuration(false);
    private ShuffleHandler handler;

    /** @param settings name, value, name, value … */
    TestNodeManager(Path folder, String... settings) throws IOException {
        this.folder = folder;
        conf.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
        conf.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem");
        conf.set(YarnConfiguration.NM_LOCAL_DIRS, folder.resolve("local").toString());
        conf.set(YarnConfiguration.NM_ADDRESS, "127.0.0.1:0");
        conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, 0);
        for (int i = 0; i < settings.length; i += 2) {
            conf.set(settings[i], settings[i + 1]);
        }
        start(new RdmaShuffleHandler());
    }

    /** Ends the handler and starts another, which has what the first left in its recovery path. */
    void restart() throws IOException {
        handler.stop();
        start(new RdmaShuffleHandler());
    }

    /** The same with Hadoop's own. */
    void restartStock() throws IOException {
        handler.stop();
        start(new ShuffleHandler());
    }

    static JobID job(int number) {
        return new JobID(Long.toString(CLUSTER), number);
    }

    static TaskAttemptID map(int job, int number) {
        return new TaskAttemptID(Long.toString(CLUSTER), job, TaskType.MAP, number, 0);
    }

    static SecretKey secret(int job) {
        return JobTokenSecretManager.createSecretKey(password(job));
    }

    void startJob(int job) throws IOException {
        Token<JobTokenIdentifier> token =
                new Token<>(new byte[] {1}, password(job), JobTokenIdentifier.KIND_NAME, new Text("job" + job));
        handler.initializeApplication(new ApplicationInitializationContext(
                USER, application(job), ShuffleHandler.serializeServiceData(token)));
    }

    void stopJob(int job) {
        handler.stopApplication(new ApplicationTerminationContext(application(job)));
    }

    /** Writes a map output of random bytes; answers them. */
    byte[] writeOutput(int job, int map, int... partitionBytes) throws IOException {
        Path directory = Files.createDirectories(output(job, map).getParent());
        SpillRecord index = new SpillRecord(partitionBytes.length);
        int length = 0;
        for (int i = 0; i < partitionBytes.length; i++) {
            index.putIndex(new IndexRecord(length, partitionBytes[i], partitionBytes[i]), i);
            length += partitionBytes[i];
        }
        byte[] bytes = new byte[length];
        new Random(map).nextBytes(bytes);
        Files.write(output(job, map), bytes);
        index.writeToFile(
                new org.apache.hadoop.fs.Path(
                        directory.resolve("file.out.index").toUri()),
                new JobConf(conf));
        return bytes;
    }

    /** The data file of a map output. */
    Path output(int job, int map) {
        return folder.resolve(
                "local/usercache/" + USER + "/appcache/" + application(job) + "/output/" + map(job, map) + "/file.out");
    }

    /** One of the NodeManager's metrics. */
    static long metric(String name) {
        MetricsCollectorImpl collector = new MetricsCollectorImpl();
        DefaultMetricsSystem.instance().getSource(NodeManagerMetrics.NAME).getMetrics(collector, true);
        for (MetricsRecord record : collector.getRecords()) {
            for (AbstractMetric metric : record.metrics()) {
                if (metric.name().equals(name)) {
                    return metric.value().longValue();
                }
            }
        }
        throw new AssertionError("no metric " + name);
    }

    /** Asks as a reducer of the job does. */
    LookupReply lookup(int job, int reduce, int... maps) throws IOException {
        List<TaskAttemptID> ids =
                java.util.Arrays.stream(maps).mapToObj(map -> map(job, map)).toList();
        URL url = new LookupRequest(job(job), reduce, ids).url(url("/"));
        return new LookupClient(secret(job), 10_000).ask((HttpURLConnection) url.openConnection(), maps.length);
    }

    URL url(String file) throws IOException {
        return new URL("http", "127.0.0.1", ShuffleHandler.deserializeMetaData(handler.getMetaData()), file);
    }

    Configuration conf() {
        return conf;
    }

    /**
     * PDs, CQs, QPs, cm_ids and MRs of this process, as softverbs counts them; a kernel counts those of the whole machine, here without
     * PDs, of which librdmacm keeps one for the life of the process.
     */
    static List<Integer> verbsObjects() throws IOException {
        String softverbs = System.getenv("SOFTVERBS_RESOURCES");
        if (softverbs == null) {
            return kernelObjects();
        }
        Path counts = Path.of(softverbs, Long.toString(ProcessHandle.current().pid()));
        if (!Files.exists(counts)) {
            return List.of(0, 0, 0, 0, 0);
        }
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(counts)).order(ByteOrder.nativeOrder());
        return List.of(bytes.getInt(), bytes.getInt(), bytes.getInt(), bytes.getInt(), bytes.getInt());
    }

    /** From a line for each device: {@code 0: rxe_a: pd 2 cq 1 qp 2 cm_id 1 mr 0 ctx 1}. */
    private static List<Integer> kernelObjects() throws IOException {
        Process rdma = new ProcessBuilder("rdma", "resource", "show").start();
        String text = new String(rdma.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return Stream.of("cq", "qp", "cm_id", "mr")
                .map(kind -> Pattern.compile("\\b" + kind + " (\\d+)")
                        .matcher(text)
                        .results()
                        .mapToInt(count -> Integer.parseInt(count.group(1)))
                        .sum())
                .toList();
    }

    @Override
    public void close() {
        handler.stop();
    }

    private void start(ShuffleHandler next) throws IOException {
        handler = next;
        handler.setAuxiliaryLocalPathHandler(new LocalDirectory());
        Path recovery = Files.createDirectories(folder.resolve("recovery"));
        handler.setRecoveryPath(new org.apache.hadoop.fs.Path(recovery.toString()));
        handler.init(conf);
        handler.start();
    }

    private static byte[] password(int job) {
        return ("secret of job " + job).getBytes(StandardCharsets.UTF_8);
    }

    private static ApplicationId application(int job) {
        return ApplicationId.newInstance(CLUSTER, job);
    }

    private final class LocalDirectory implements AuxiliaryLocalPathHandler {

        private final LocalDirAllocator directories = new LocalDirAllocator(YarnConfiguration.NM_LOCAL_DIRS);

        @Override
        public org.apache.hadoop.fs.Path getLocalPathForRead(String path) throws IOException {
            return directories.getLocalPathToRead(path, conf);
        }

        @Override
        public org.apache.hadoop.fs.Path getLocalPathForWrite(String path) throws IOException {
            return directories.getLocalPathForWrite(path, conf);
        }

        @Override
        public org.apache.hadoop.fs.Path getLocalPathForWrite(String path, long size) throws IOException {
            return directories.getLocalPathForWrite(path, size, conf);
        }

        @Override
        public Iterable<org.apache.hadoop.fs.Path> getAllLocalPathsForRead(String path) throws IOException {
            return directories.getAllLocalPathsToRead(path, conf);
        }
    }
}
