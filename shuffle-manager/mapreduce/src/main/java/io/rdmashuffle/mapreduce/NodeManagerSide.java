package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.Endpoints;
import io.rdmashuffle.core.RdmaUnavailableException;
import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.LocalAddresses;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.PinnedShares;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a NodeManager does: answers lookups out of the {@link JobOutputs} of each job, which begin with the job's first lookup, also
 * after the NodeManager was restarted in mid-job, and end with the application. Any thread.
 */
final class NodeManagerSide implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(NodeManagerSide.class);
    /** Lookups that register; most find their map output registered already. */
    private static final int THREADS = 4;

    private static final int MAX_WAITING_LOOKUPS = 10_000;

    private final RdmaConfig config;
    private final JobTokenSecretManager secrets;
    private final Map<String, String> users;
    private final MapOutputFiles files;
    private final List<LocalAddress> addresses;
    private final String whyNot; // null when there is RDMA
    private final PinnedBudget budget;
    private final PinnedBudget messageBudget; // a part of it, so that map outputs leave room for who wants to read them
    private final PinnedBudget fileBudget; // the rest
    private final Counters counters = new Counters();
    private final NodeManagerMetrics metrics;
    private final ThreadPoolExecutor executor;
    private final Map<JobID, JobOutputs> jobs = new ConcurrentHashMap<>();
    private boolean closed; // under this

    private NodeManagerSide(
            RdmaConfig config,
            JobTokenSecretManager secrets,
            Map<String, String> users,
            MapOutputFiles files,
            List<LocalAddress> addresses,
            String whyNot) {
        this.config = config;
        this.secrets = secrets;
        this.users = users;
        this.files = files;
        this.addresses = addresses;
        this.whyNot = whyNot;
        this.budget = new PinnedBudget(Endpoints.withinMemlock(config.get(RdmaConfig.PINNED_MAX_BYTES)));
        this.messageBudget = budget.share(PinnedShares.messageBytes(budget.maxBytes()));
        this.fileBudget = budget.share(budget.maxBytes() - messageBudget.maxBytes());
        this.metrics = NodeManagerMetrics.register(
                jobs::size, budget::usedBytes, () -> counters.get(Counter.REFUSED_CONNECTIONS));
        this.executor = new ThreadPoolExecutor(
                THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(MAX_WAITING_LOOKUPS), work -> {
                    Thread thread = new Thread(work, "rdma-shuffle-lookup");
                    thread.setDaemon(true);
                    return thread;
                });
        executor.allowCoreThreadTimeOut(true);
    }

    /**
     * Says in one log line whether map outputs can be read over RDMA and why not.
     *
     * @param secrets the shuffle secrets of the jobs
     * @param users the users of the jobs by job id
     * @return null when RDMA is off
     * @throws IllegalArgumentException for a setting that is not allowed
     */
    static NodeManagerSide start(
            Configuration conf,
            JobTokenSecretManager secrets,
            Map<String, String> users,
            Supplier<AuxiliaryLocalPathHandler> localDirs) {
        RdmaConfig config = HadoopSettings.read(conf);
        if (config.get(RdmaConfig.MODE) == Mode.OFF) {
            return null;
        }
        List<LocalAddress> addresses = List.of();
        String whyNot = null;
        try {
            addresses = LocalAddresses.bestFirst(HadoopSettings.nodeManagerHost(conf), config);
            try (VerbsEndpoint probe = Endpoints.open(addresses, 1, 1)) {
                LOG.info(
                        "RDMA shuffle: map outputs can be read over rdma, device {}, address {}",
                        probe.device().name(),
                        probe.listenAddress().getAddress());
            }
        } catch (RdmaUnavailableException | IOException e) {
            whyNot = e.getMessage();
            LOG.info("RDMA shuffle: map outputs are served over HTTP only, because {}", whyNot);
        }
        return new NodeManagerSide(config, secrets, users, new MapOutputFiles(conf, localDirs), addresses, whyNot);
    }

    /** @throws org.apache.hadoop.security.token.SecretManager.InvalidToken when the job is not known here */
    SecretKey secretOf(JobID job) throws IOException {
        return secrets.retrieveTokenSecret(job.toString());
    }

    void execute(Runnable work) {
        executor.execute(work);
    }

    void countRefusal() {
        metrics.refusedLookups.incr();
    }

    /** Answers a request whose asker has proved to belong to the job. May register map outputs, which takes time. */
    LookupReply lookup(LookupRequest request) {
        metrics.lookups.incr();
        int maps = request.maps().size();
        if (whyNot != null) {
            return LookupReply.unreadable(maps, FallbackReason.UNAVAILABLE, whyNot);
        }
        try {
            JobOutputs job = jobs.get(request.job());
            return (job == null ? addJob(request.job()) : job).lookup(request);
        } catch (RdmaUnavailableException | IOException e) {
            LOG.warn("RDMA shuffle: {} is served over HTTP: {}", request.job(), e.getMessage());
            return LookupReply.unreadable(maps, FallbackReason.UNAVAILABLE, String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            LOG.error("RDMA shuffle: a lookup failed by a defect; its map outputs are served over HTTP", e);
            return LookupReply.unreadable(maps, FallbackReason.NOT_PUBLISHED, e.toString());
        }
    }

    /** Ends the job's connections and registrations. The caller has removed its secret. */
    void removeJob(JobID id) {
        JobOutputs job;
        synchronized (this) {
            job = jobs.remove(id);
        }
        if (job != null) {
            job.close();
        }
    }

    @Override
    public void close() {
        executor.shutdownNow();
        List<JobOutputs> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(jobs.values());
            jobs.clear();
        }
        left.forEach(JobOutputs::close);
        metrics.unregister();
    }

    /** With the lock held it asks for the secret again: a job that was removed since has none, and one that has will be removed. */
    private synchronized JobOutputs addJob(JobID id) throws IOException, RdmaUnavailableException {
        if (closed) {
            throw new IOException("the NodeManager is ending");
        }
        JobOutputs job = jobs.get(id);
        if (job == null) {
            byte[] secret = secretOf(id).getEncoded();
            String user = users.get(id.toString());
            PinnedBudget share = fileBudget.share(config.get(RdmaConfig.PINNED_MAX_BYTES_PER_APPLICATION));
            job = JobOutputs.open(user, secret, addresses, config, share, messageBudget, files, counters, metrics);
            jobs.put(id, job);
        }
        return job;
    }
}
