package io.rdmashuffle.core.read;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Time per block of turning a request's blocks into READs. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class ReadPlannerBenchmark {

    private static final int BLOCKS = 1000;
    private static final int BLOCK_BYTES = 2048;

    private final Extents neighbours = new Extents(BLOCKS);
    private final Extents scattered = new Extents(BLOCKS);

    @Setup
    public void setUp() {
        for (int i = 0; i < BLOCKS; i++) {
            neighbours.add((long) i * BLOCK_BYTES, 7, BLOCK_BYTES);
            scattered.add((long) i << 24, i, BLOCK_BYTES);
        }
    }

    /** Adjacent blocks of one map output: few READs. */
    @Benchmark
    @OperationsPerInvocation(BLOCKS)
    public List<ReadPlan> neighbours() {
        return ReadPlanner.plan(neighbours, 1 << 30, 8 << 20);
    }

    /** One block of each of many map outputs: a READ each. */
    @Benchmark
    @OperationsPerInvocation(BLOCKS)
    public List<ReadPlan> scattered() {
        return ReadPlanner.plan(scattered, 1 << 30, 8 << 20);
    }
}
