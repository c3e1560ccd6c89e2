package io.rdmashuffle.spark.yarn;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.shuffle.MergedShuffleFileManager;
import org.apache.spark.network.shuffle.protocol.BlockTransferMessage;
import org.apache.spark.network.shuffle.protocol.RegisterExecutor;
import org.apache.spark.network.shuffle.protocol.RemoveBlocks;
import org.apache.spark.network.util.TransportConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers on the shuffle port: {@link ServiceRequest}s itself, all else as Spark's service does. Which files an application has here
 * is Spark's to say; a request names a map output, never a path.
 */
final class RdmaBlockHandler extends ExternalBlockHandler {

    private static final Logger LOG = LoggerFactory.getLogger(RdmaBlockHandler.class);
    /** Registrations at a time; Spark's threads, which serve others, do not wait for them. */
    private static final int THREADS = 4;

    private static final int MAX_WAITING = 10_000;
    private static final int MAX_PARTITIONS = 1 << 24; // Spark's, of its packed record pointers
    private static final Pattern DATA_FILE = Pattern.compile("shuffle_(\\d{1,9})_(\\d{1,18})_0\\.data");

    private final ServedApplications applications;
    private final List<Path> localDirs;
    private final ThreadPoolExecutor executor;

    /** @param localDirs the NodeManager's: nothing outside of them is served */
    RdmaBlockHandler(
            TransportConf conf,
            File registeredExecutors,
            MergedShuffleFileManager merged,
            ServedApplications applications,
            List<Path> localDirs)
            throws IOException {
        super(conf, registeredExecutors, merged);
        this.applications = applications;
        this.localDirs = localDirs;
        this.executor = new ThreadPoolExecutor(
                THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(MAX_WAITING), work -> {
                    Thread thread = new Thread(work, "rdma-shuffle-serve");
                    thread.setDaemon(true);
                    return thread;
                });
        executor.allowCoreThreadTimeOut(true);
    }

    @Override
    public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
        if (!ServiceRequest.isOurs(message)) {
            super.receive(client, message, callback);
            return;
        }
        ServiceRequest request;
        try {
            request = ServiceRequest.decode(message);
        } catch (IOException e) {
            throw new IllegalArgumentException("not a request to serve map outputs", e);
        }
        checkBelongs(client, request.appId());
        executor.execute(() -> answer(request, callback)); // throws when too many wait: Spark tells the executor
    }

    /** Executors say where their files are; Spark's services of old believe anything. */
    @Override
    protected void handleMessage(BlockTransferMessage message, TransportClient client, RpcResponseCallback callback) {
        if (message instanceof RegisterExecutor registration) {
            Arrays.stream(registration.executorInfo.localDirs).forEach(dir -> checkLocal(dir, registration.appId));
        }
        super.handleMessage(message, client, callback);
        if (message instanceof RemoveBlocks removed) {
            Arrays.stream(removed.blockIds)
                    .map(DATA_FILE::matcher)
                    .filter(Matcher::matches)
                    .forEach(id -> applications.forget(
                            removed.appId, Integer.parseInt(id.group(1)), Long.parseLong(id.group(2))));
        }
    }

    @Override
    public void close() {
        executor.shutdownNow();
        super.close();
    }

    private void answer(ServiceRequest request, RpcResponseCallback callback) {
        try {
            if (request instanceof ServiceRequest.Serve serve) {
                callback.onSuccess(serve(serve).encode());
            } else if (request instanceof ServiceRequest.Forget forget) {
                applications.forget(forget.appId(), forget.shuffleId());
                callback.onSuccess(ByteBuffer.allocate(0));
            }
        } catch (RuntimeException | Error e) {
            LOG.error("RDMA shuffle: a request failed by a defect; its map output is served over TCP", e);
            callback.onFailure(e);
        }
    }

    private ServiceAnswer serve(ServiceRequest.Serve request) {
        try {
            FileSegmentManagedBuffer[] partitions = partitions(request);
            long[] lengths = Arrays.stream(partitions)
                    .mapToLong(FileSegmentManagedBuffer::getLength)
                    .toArray();
            Path data = partitions[0].getFile().toPath();
            long sum = Arrays.stream(lengths).sum();
            if (sum == 0 || sum != Files.size(data) || Arrays.stream(lengths).anyMatch(length -> length < 0)) {
                throw new IOException(data.getFileName() + " is not as long as its index says");
            }
            return applications.serve(request, data, lengths);
        } catch (IOException e) {
            return new ServiceAnswer.Refused(FallbackReason.NOT_PUBLISHED, String.valueOf(e.getMessage()));
        }
    }

    /** Where Spark's own service would read each partition of the map output. */
    private FileSegmentManagedBuffer[] partitions(ServiceRequest.Serve request) throws IOException {
        if (request.partitions() <= 0 || request.partitions() > MAX_PARTITIONS) {
            throw new IOException("a map output of " + request.partitions() + " partitions");
        }
        try {
            return IntStream.range(0, request.partitions())
                    .mapToObj(partition -> (FileSegmentManagedBuffer) getBlockResolver()
                            .getBlockData(
                                    request.appId(), request.execId(), request.shuffleId(), request.mapId(), partition))
                    .toArray(FileSegmentManagedBuffer[]::new);
        } catch (RuntimeException e) { // Spark's way to say that there is no such map output, or partition
            throw new IOException(e.getMessage(), e);
        }
    }

    /** As Spark checks it: with authentication the connection has proved its application. */
    private static void checkBelongs(TransportClient client, String appId) {
        if (client.getClientId() != null && !client.getClientId().equals(appId)) {
            throw new SecurityException("a client of " + client.getClientId() + " asked for map outputs of " + appId);
        }
    }

    /** Below a local directory of the NodeManager and in the application's own part of it. */
    private void checkLocal(String dir, String appId) {
        Path path = Path.of(dir).normalize();
        boolean local = localDirs.stream()
                .filter(path::startsWith)
                .anyMatch(localDir -> hasPart(localDir.relativize(path), appId));
        if (!local) {
            throw new SecurityException("an executor of " + appId + " has a local directory that YARN did not give it");
        }
    }

    private static boolean hasPart(Path path, String name) {
        for (Path part : path) {
            if (part.toString().equals(name)) {
                return true;
            }
        }
        return false;
    }
}
