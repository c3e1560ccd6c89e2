package io.rdmashuffle.verbs;

import io.rdmashuffle.integration.bench.JavaReads;
import java.net.InetAddress;
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

/** What the way through JNI costs: to post READs and to collect their completions, and a poll that finds nothing. Needs an RDMA device. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class PostAndPollBenchmark {

    private static final int CHAIN = 64;
    private static final int BYTES = 64;

    private JavaReads reads;

    @Setup
    public void setUp() throws VerbsException {
        reads = new JavaReads(InetAddress.getLoopbackAddress(), InetAddress.getLoopbackAddress(), CHAIN, BYTES);
    }

    @TearDown
    public void tearDown() {
        reads.close();
    }

    @Benchmark
    public void oneRead() throws VerbsException {
        reads.post(BYTES, 1, 0);
        awaitCompletions();
    }

    @Benchmark
    @OperationsPerInvocation(CHAIN)
    public void readInAChain() throws VerbsException {
        reads.post(BYTES, CHAIN, 0);
        awaitCompletions();
    }

    @Benchmark
    public long emptyPoll() throws VerbsException {
        return reads.completed(0);
    }

    private void awaitCompletions() throws VerbsException {
        while (reads.completed(0) == 0) {
            Thread.onSpinWait();
        }
    }
}
