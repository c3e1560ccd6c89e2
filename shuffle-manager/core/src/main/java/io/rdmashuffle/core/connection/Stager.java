package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.connection.ControlMessage.Refusal;
import io.rdmashuffle.core.connection.MapOutputFiles.DataFile;
import io.rdmashuffle.core.memory.StagingPool;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.verbs.VerbsException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies bytes of published map outputs into registered buffers for readers of this process. Which file is read, and how far, is
 * decided by what was published, never by what a reader sent. Loop thread only, but for the copying, which threads of its own do.
 */
final class Stager implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Stager.class);
    private static final int THREADS = 2;

    /** Is told one outcome on the loop thread, maybe at once; none after it was cancelled. */
    interface Outcome {
        /** The buffer is the outcome's, to be given back once no reader can reach it. */
        void onStaged(StagingPool.Buffer buffer, int lengthBytes);

        void onRefused(Refusal refusal);
    }

    /** A request on its way. */
    final class Job {
        private final ControlMessage.Stage request;
        private final DataFile[] files;
        private final Outcome outcome;
        private EventLoop.Timer deadline;
        private boolean over;

        private Job(ControlMessage.Stage request, DataFile[] files, Outcome outcome) {
            this.request = request;
            this.files = files;
            this.outcome = outcome;
        }

        /** Whether its outcome was told, or it was cancelled. */
        boolean isOver() {
            return over;
        }

        /** Nobody wants the outcome any more. */
        void cancel() {
            over = true;
            waiting.remove(this);
        }
    }

    private final EventLoop loop;
    private final MapOutputFiles files;
    private final StagingPool pool;
    private final long maxWaitMillis;
    private final Counters counters;
    private final ArrayDeque<Job> waiting = new ArrayDeque<>();
    private final Set<Refusal> told = EnumSet.noneOf(Refusal.class);
    private final ExecutorService copiers = Executors.newFixedThreadPool(THREADS, work -> {
        Thread thread = new Thread(work, "rdma-shuffle-staging");
        thread.setDaemon(true);
        return thread;
    });

    /** @param maxWaitMillis longest wait of a request for a buffer: shorter than readers wait for an answer */
    Stager(EventLoop loop, MapOutputFiles files, StagingPool pool, long maxWaitMillis, Counters counters) {
        this.loop = loop;
        this.files = files;
        this.pool = pool;
        this.maxWaitMillis = maxWaitMillis;
        this.counters = counters;
    }

    /** Stages as many of the bytes asked for, from the first on, as a buffer holds. */
    Job stage(ControlMessage.Stage request, Outcome outcome) {
        Job job = new Job(request, find(request), outcome);
        if (job.files == null) {
            refuse(job, Refusal.UNKNOWN);
        } else if (pool.bufferBytes() == 0) {
            refuse(job, Refusal.BUSY);
        } else {
            files.touch(request.shuffleId());
            if (!waiting.isEmpty() || !serve(job)) {
                waiting.add(job);
                job.deadline = loop.schedule(maxWaitMillis, () -> {
                    if (waiting.remove(job)) {
                        refuse(job, Refusal.BUSY);
                    }
                });
            }
        }
        return job;
    }

    void giveBack(StagingPool.Buffer buffer) {
        pool.giveBack(buffer);
        while (!waiting.isEmpty() && serve(waiting.peek())) {
            waiting.poll().deadline.cancel();
        }
    }

    /** Ends the copying; buffers that are taken are freed when they are given back. */
    @Override
    public void close() {
        copiers.shutdown();
        pool.close();
    }

    /** Null unless all of it was published. */
    private DataFile[] find(ControlMessage.Stage request) {
        DataFile[] found = new DataFile[request.mapIds().length];
        for (int i = 0; i < found.length; i++) {
            found[i] = files.find(request.shuffleId(), request.mapIds()[i]);
            if (found[i] == null || request.offsets()[i] > found[i].lengthBytes() - request.lengths()[i]) {
                return null;
            }
        }
        return found;
    }

    /** Whether the job needs to wait no longer. */
    private boolean serve(Job job) {
        try {
            StagingPool.Buffer buffer = pool.tryTake();
            if (buffer != null) {
                copiers.execute(() -> copy(job, buffer));
            }
            return buffer != null;
        } catch (VerbsException e) {
            refuse(job, Refusal.BUSY);
            return true;
        }
    }

    private void copy(Job job, StagingPool.Buffer buffer) {
        ByteBuffer bytes = buffer.bytes().clear();
        Throwable failure = null;
        try {
            for (int i = 0; i < job.files.length && bytes.hasRemaining(); i++) {
                copy(job.files[i], job.request.offsets()[i], job.request.lengths()[i], bytes);
            }
        } catch (IOException
                | RuntimeException
                | Error e) { // whatever it is, the buffer comes back and the reader is answered
            failure = e;
        }
        int copied = bytes.position();
        Throwable cause = failure;
        loop.submit(() -> copied(job, buffer, copied, cause));
    }

    private static void copy(DataFile file, long offset, int lengthBytes, ByteBuffer to) throws IOException {
        try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.READ)) {
            int end = to.position() + Math.min(lengthBytes, to.remaining());
            to.limit(end);
            for (long at = offset; to.hasRemaining(); ) {
                int read = channel.read(to, at);
                if (read < 0) {
                    throw new EOFException(file.path() + " is shorter than published");
                }
                at += read;
            }
        } finally {
            to.limit(to.capacity());
        }
    }

    private void copied(Job job, StagingPool.Buffer buffer, int lengthBytes, Throwable failure) {
        if (job.over || failure != null) {
            giveBack(buffer);
        }
        if (failure != null) {
            LOG.debug("staging of shuffle {}", job.request.shuffleId(), failure);
            refuse(job, Refusal.UNREADABLE);
        } else if (!job.over) {
            job.over = true;
            job.outcome.onStaged(buffer, lengthBytes);
        }
    }

    private void refuse(Job job, Refusal refusal) {
        counters.add(Counter.REFUSED_REQUESTS, 1);
        if (told.add(refusal)) {
            LOG.warn("RDMA shuffle: could not stage map outputs of shuffle {}: {}", job.request.shuffleId(), refusal);
        }
        if (!job.over) {
            job.over = true;
            job.outcome.onRefused(refusal);
        }
    }
}
