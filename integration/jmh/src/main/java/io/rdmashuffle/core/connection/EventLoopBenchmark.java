package io.rdmashuffle.core.connection;

import io.rdmashuffle.integration.bench.JavaReads;
import io.rdmashuffle.verbs.AsyncEventType;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.VerbsException;
import java.net.InetAddress;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * A READ from another thread: submitted to the loop, posted, its completion dispatched to its connection, the thread told. One by one
 * this is the latency of two hand-overs between threads; together, the cost of dispatching. Needs an RDMA device.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class EventLoopBenchmark {

    private static final int READS = 64;
    private static final int BYTES = 64;

    private final Semaphore done = new Semaphore(0);
    private JavaReads reads;
    private EventLoop loop;

    private final class Dispatched implements EventLoop.Handler {
        @Override
        public void onCompletion(EventBatch events, int index) {
            done.release();
        }

        @Override
        public void onCmEvent(CmEventType type, EventBatch events, int index) {}

        @Override
        public void onDeviceFailure(AsyncEventType type) {}
    }

    @Setup
    public void setUp() throws VerbsException {
        reads = new JavaReads(InetAddress.getLoopbackAddress(), InetAddress.getLoopbackAddress(), READS, BYTES);
        loop = new EventLoop(reads.reader());
        loop.addQueuePair(reads.queuePair(), new Dispatched());
        loop.start((events, index) -> {});
    }

    @TearDown
    public void tearDown() {
        loop.close();
        reads.close();
    }

    @Benchmark
    public void oneByOne() throws InterruptedException {
        read(1);
    }

    @Benchmark
    @OperationsPerInvocation(READS)
    public void together() throws InterruptedException {
        read(READS);
    }

    private void read(int count) throws InterruptedException {
        loop.submit(() -> {
            try {
                for (int i = 0; i < count; i++) {
                    reads.post(BYTES, 1, i);
                }
            } catch (VerbsException e) {
                throw new IllegalStateException(e);
            }
        });
        done.acquire(count);
    }
}
