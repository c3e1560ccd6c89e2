package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.Listening;
import io.rdmashuffle.core.RdmaUnavailableException;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.Connections;
import io.rdmashuffle.core.connection.Control;
import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.FileRegistrar;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.core.publish.RegisteredFile;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.TaskAttemptID;

/**
 * One job's map outputs in this NodeManager. It has an endpoint of its own, hence a protection domain, queue pairs and regions of
 * its own: keys and connections of one job are of no use against another's, and closing leaves nothing of the job behind. Map
 * outputs are registered when a reducer first asks for them. Any thread.
 */
final class JobOutputs implements AutoCloseable {

    /** An owner posts next to nothing. */
    private static final int CQ_ENTRIES = 1024;

    private record Output(MapOutputFiles.Located located, RegisteredFile file) {}

    private final String user;
    private final VerbsEndpoint endpoint;
    private final Connections connections;
    private final Owner owner;
    private final FileRegistrar registrar;
    private final MapOutputFiles files;
    private final NodeManagerMetrics metrics;
    private final Map<TaskAttemptID, Output> outputs = new ConcurrentHashMap<>();
    private boolean closed; // under this

    private JobOutputs(
            String user,
            Listening listening,
            byte[] secret,
            RdmaConfig config,
            PinnedBudget budget,
            PinnedBudget messageBudget,
            MapOutputFiles files,
            Counters counters,
            NodeManagerMetrics metrics) {
        long incarnation = new SecureRandom().nextLong();
        this.user = user;
        this.endpoint = listening.endpoint();
        this.connections = new Connections(
                new EventLoop(endpoint),
                listening.locals(),
                CQ_ENTRIES,
                incarnation,
                secret,
                Control.withoutStaging(endpoint, messageBudget),
                config,
                counters);
        this.owner = new Owner("NodeManager", incarnation, listening.announced());
        this.registrar = new FileRegistrar(endpoint, budget, config.get(RdmaConfig.ODP));
        this.files = files;
        this.metrics = metrics;
    }

    /**
     * @param secret the job's shuffle secret: who has it is let in
     * @param budget the job's share of the NodeManager's for map outputs
     * @param messageBudget the NodeManager's for message rings of connections
     */
    static JobOutputs open(
            String user,
            byte[] secret,
            List<LocalAddress> addresses,
            RdmaConfig config,
            PinnedBudget budget,
            PinnedBudget messageBudget,
            MapOutputFiles files,
            Counters counters,
            NodeManagerMetrics metrics)
            throws RdmaUnavailableException {
        Listening listening = Listening.open(addresses, CQ_ENTRIES);
        JobOutputs outputs =
                new JobOutputs(user, listening, secret, config, budget, messageBudget, files, counters, metrics);
        outputs.connections.start();
        return outputs;
    }

    LookupReply lookup(LookupRequest request) {
        return new LookupReply(
                owner,
                request.maps().stream()
                        .map(map -> segment(map, request.reduce()))
                        .toList());
    }

    @Override
    public void close() {
        synchronized (this) {
            closed = true;
        }
        connections.close();
        outputs.values().forEach(output -> output.file.close());
        outputs.clear();
        endpoint.close();
    }

    private Segment segment(TaskAttemptID map, int reduce) {
        try {
            Output output = outputs.get(map);
            if (output == null) {
                output = register(map);
            }
            IndexRecord record = files.index(output.located, reduce, user);
            if (record.partLength <= 0
                    || record.rawLength < 0
                    || record.startOffset < 0
                    || record.startOffset > output.file.lengthBytes() - record.partLength) {
                return Segment.unreadable(FallbackReason.BAD_OFFSETS, "index of " + map);
            }
            metrics.servedSegments.incr();
            return Segment.readable(
                    output.file.address() + record.startOffset,
                    output.file.rkey(),
                    record.partLength,
                    record.rawLength);
        } catch (NotPublishedException e) {
            metrics.refusedOutputs.incr();
            return Segment.unreadable(e.reason(), e.getMessage());
        } catch (IOException e) {
            metrics.refusedOutputs.incr();
            return Segment.unreadable(FallbackReason.NOT_PUBLISHED, String.valueOf(e.getMessage()));
        }
    }

    private synchronized Output register(TaskAttemptID map) throws IOException {
        if (closed) {
            throw new NotPublishedException(FallbackReason.CLOSED, "the job has ended", null);
        }
        Output output = outputs.get(map);
        if (output == null) {
            MapOutputFiles.Located located = files.locate(map, user);
            output = new Output(located, registerOf(located));
            outputs.put(map, output);
        }
        return output;
    }

    /** Asks who owns what was opened: the user may have put another's file in the place of the one that was checked. */
    private RegisteredFile registerOf(MapOutputFiles.Located located) throws NotPublishedException {
        RegisteredFile file = registrar.register(located.data());
        if (file.ownerUid() != located.ownerUid()) {
            file.close();
            throw new NotPublishedException(FallbackReason.NOT_PUBLISHED, "the file is not the user's", null);
        }
        return file;
    }
}
