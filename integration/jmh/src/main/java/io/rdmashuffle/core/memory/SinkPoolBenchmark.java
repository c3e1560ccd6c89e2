package io.rdmashuffle.core.memory;

import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A sink lent and given back, from a warm pool; with several threads the lock is what is measured. Needs an RDMA device. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SinkPoolBenchmark {

    private static final int BYTES = 1 << 20;

    private VerbsEndpoint endpoint;
    private SinkPool pool;

    @Setup
    public void setUp() throws VerbsException {
        endpoint = VerbsEndpoint.open(InetAddress.getLoopbackAddress(), 1, 16);
        pool = new SinkPool(endpoint, new PinnedBudget(64 << 20), () -> {});
    }

    @TearDown
    public void tearDown() {
        pool.close();
        endpoint.close();
    }

    @Benchmark
    public void lendAndGiveBack() throws VerbsException {
        pool.tryAllocate(BYTES).release();
    }
}
