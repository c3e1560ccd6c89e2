package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.URL;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.security.IntermediateEncryptedStream;
import org.apache.hadoop.mapreduce.task.reduce.ExceptionReporter;
import org.apache.hadoop.mapreduce.task.reduce.Fetcher;
import org.apache.hadoop.mapreduce.task.reduce.MapHost;
import org.apache.hadoop.mapreduce.task.reduce.MapOutput;
import org.apache.hadoop.mapreduce.task.reduce.MergeManager;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleClientMetrics;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedulerImpl;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A fetcher that reads the map outputs of a host over RDMA: one lookup, then a READ or more for each segment, into Hadoop's own
 * merge. What cannot be read is put back, and the stock fetcher gets it over HTTP in the same visit. So a fault of the transport is
 * no fault of a map: the ApplicationMaster is told nothing, and the map is not run again.
 */
final class RdmaFetcher<K, V> extends Fetcher<K, V> {

    private static final Logger LOG = LoggerFactory.getLogger(RdmaFetcher.class);

    private final JobConf conf;
    private final ReducerSide side;
    private final LookupClient lookups;
    private final RestartWait restart;
    private final int cryptoPadding;

    RdmaFetcher(
            ShuffleConsumerPlugin.Context<K, V> context,
            ShuffleSchedulerImpl<K, V> scheduler,
            MergeManager<K, V> merger,
            ShuffleClientMetrics metrics,
            ExceptionReporter failures,
            ReducerSide side)
            throws IOException {
        super(
                context.getJobConf(),
                context.getReduceId(),
                scheduler,
                merger,
                context.getReporter(),
                metrics,
                failures,
                context.getReduceTask().getShuffleSecret());
        this.conf = context.getJobConf();
        this.side = side;
        this.lookups = new LookupClient(context.getReduceTask().getShuffleSecret(), side.connectTimeoutMillis());
        this.restart = new RestartWait(conf);
        this.cryptoPadding = CryptoUtils.cryptoPadding(conf);
    }

    @Override
    protected void copyFromHost(MapHost host) throws IOException {
        Set<TaskAttemptID> left = new LinkedHashSet<>(scheduler.getMapsForHost(host));
        if (left.isEmpty()) {
            return;
        }
        boolean overHttp;
        List<TaskAttemptID> later = List.of();
        try {
            overHttp = !copyByReads(host, left);
            if (overHttp) {
                later = host.getAndClearKnownMaps(); // beyond what one visit takes, and not asked about yet
            }
        } finally {
            left.forEach(map -> scheduler.putBackKnownMapOutput(host, map));
        }
        try {
            if (overHttp) {
                super.copyFromHost(host);
            }
        } finally {
            later.forEach(map -> scheduler.putBackKnownMapOutput(host, map));
        }
    }

    /**
     * @param left the wanted map outputs; those that were copied are taken out
     * @return whether HTTP is not wanted for what is left
     */
    private boolean copyByReads(MapHost host, Set<TaskAttemptID> left) throws IOException {
        String name = host.getHostName();
        FallbackReason whyNot = side.whyNot(name);
        if (whyNot != null) {
            return fallBack(name, whyNot, left.size(), side.cause());
        }
        try {
            List<TaskAttemptID> maps = List.copyOf(left);
            LookupReply reply = lookup(host, maps);
            if (reply.owner() == null) {
                side.failed(name);
            }
            List<TaskAttemptID> readable = new ArrayList<>();
            List<Segment> segments = new ArrayList<>();
            for (int i = 0; i < maps.size(); i++) {
                Segment segment = reply.segments().get(i);
                if (segment.whyNot() == null) {
                    readable.add(maps.get(i));
                    segments.add(segment);
                } else {
                    fallBack(name, segment.whyNot(), 1, segment.detail());
                }
            }
            copy(host, reply.owner(), readable, segments, left);
            if (!readable.isEmpty()) {
                side.worked(name);
            }
            return readable.size() == maps.size();
        } catch (SegmentReads.ReadException e) {
            if (isInterrupted()) {
                return true; // the shuffle is over: to end this thread its connection was closed
            }
            side.failed(name);
            fallBack(name, e.reason(), left.size(), e.getMessage());
            return restart.await(e.reason(), new URL(host.getBaseUrl()), reporter::progress);
        } catch (InterruptedIOException e) {
            return true; // likewise
        }
    }

    private LookupReply lookup(MapHost host, List<TaskAttemptID> maps) throws IOException {
        org.apache.hadoop.mapreduce.JobID job = maps.get(0).getJobID();
        LookupRequest request = new LookupRequest(
                JobID.downgrade(job),
                reduce,
                maps.stream()
                        .map(org.apache.hadoop.mapred.TaskAttemptID::downgrade)
                        .toList());
        openConnection(request.url(new URL(host.getBaseUrl())));
        try {
            return lookups.ask(connection, maps.size());
        } finally {
            closeConnection();
        }
    }

    /** Copies one after another until there is no room for more now. */
    private void copy(
            MapHost host, Owner owner, List<TaskAttemptID> maps, List<Segment> segments, Set<TaskAttemptID> left)
            throws IOException {
        try (SegmentReads reads = new SegmentReads(side, owner, segments, reporter::progress)) {
            for (int i = 0; i < maps.size(); i++) {
                if (!copy(host, maps.get(i), segments.get(i), reads.open(i))) {
                    return;
                }
                left.remove(maps.get(i));
            }
        }
    }

    /** @return false when there is no room for it now, or the local disks fail, which the scheduler was told */
    private boolean copy(MapHost host, TaskAttemptID map, Segment segment, InputStream source) throws IOException {
        long copyLength = segment.partLength() - cryptoPadding;
        long rawLength = segment.rawLength() - cryptoPadding;
        if (copyLength < 0 || rawLength < 0) {
            throw new SegmentReads.ReadException(FallbackReason.BAD_OFFSETS, "index of " + map);
        }
        MapOutput<K, V> output = reserve(map, rawLength);
        if (output == null) {
            return false;
        }
        long start = Time.monotonicNow();
        try (InputStream bytes = source) {
            InputStream clear = IntermediateEncryptedStream.wrapIfNecessary(conf, bytes, segment.partLength(), null);
            output.shuffle(host, clear, copyLength, rawLength, metrics, reporter);
        } catch (Exception | InternalError e) { // codecs throw InternalError on bytes they cannot make sense of
            output.abort();
            throw transportFailure(map, e);
        }
        side.counters().add(Counter.RDMA_BYTES, copyLength);
        side.counters().add(Counter.RDMA_BLOCKS, 1);
        scheduler.copySucceeded(map, host, copyLength, start, Time.monotonicNow(), output);
        metrics.successFetch();
        return true;
    }

    private MapOutput<K, V> reserve(TaskAttemptID map, long rawLength) {
        try {
            return merger.reserve(map, rawLength, id);
        } catch (IOException e) {
            scheduler.reportLocalError(e);
            return null;
        }
    }

    private static IOException transportFailure(TaskAttemptID map, Throwable e) {
        if (e instanceof SegmentReads.ReadException || e instanceof InterruptedIOException) {
            return (IOException) e;
        }
        LOG.warn("RDMA shuffle: output of {} was read and not accepted", map, e);
        return new SegmentReads.ReadException(FallbackReason.CORRUPT, map + ": " + e);
    }

    /**
     * @return false: over HTTP, then
     * @throws IOException when RDMA is required, which fails the task
     */
    private boolean fallBack(String host, FallbackReason reason, int segments, String detail) throws IOException {
        side.recordFallback(host, reason, segments, detail);
        if (side.isRequired()) {
            throw new IOException(HadoopSettings.PREFIX + "mode=required, yet " + segments + " segments of " + host
                    + " cannot be read over RDMA: " + reason + (detail.isEmpty() ? "" : " (" + detail + ")"));
        }
        return false;
    }
}
