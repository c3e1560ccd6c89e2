package io.rdmashuffle.mapreduce;

import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.apache.hadoop.metrics2.annotation.Metric;
import org.apache.hadoop.metrics2.annotation.Metrics;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;

/** What a NodeManager tells Hadoop's metrics system, beside the stock handler's figures for HTTP. Any thread. */
@Metrics(name = NodeManagerMetrics.NAME, about = "Map outputs served over RDMA", context = "mapred")
final class NodeManagerMetrics {

    static final String NAME = "RdmaShuffle";

    @Metric("Lookups answered")
    MutableCounterLong lookups;

    @Metric("Lookups refused: malformed, or without proof of membership")
    MutableCounterLong refusedLookups;

    @Metric("Segments whose place a reducer was told")
    MutableCounterLong servedSegments;

    @Metric("Map outputs that a lookup could not offer over RDMA")
    MutableCounterLong refusedOutputs;

    private final IntSupplier jobs;
    private final LongSupplier registeredBytes;
    private final LongSupplier refusedConnections;

    private NodeManagerMetrics(IntSupplier jobs, LongSupplier registeredBytes, LongSupplier refusedConnections) {
        this.jobs = jobs;
        this.registeredBytes = registeredBytes;
        this.refusedConnections = refusedConnections;
    }

    static NodeManagerMetrics register(
            IntSupplier jobs, LongSupplier registeredBytes, LongSupplier refusedConnections) {
        return DefaultMetricsSystem.instance()
                .register(
                        NAME,
                        "Map outputs served over RDMA",
                        new NodeManagerMetrics(jobs, registeredBytes, refusedConnections));
    }

    void unregister() {
        DefaultMetricsSystem.instance().unregisterSource(NAME);
    }

    @Metric("Jobs with an RDMA endpoint")
    public int getJobs() {
        return jobs.getAsInt();
    }

    @Metric("Connections refused for want of proof of membership")
    public long getRefusedConnections() {
        return refusedConnections.getAsLong();
    }

    @Metric("Bytes of map output registered")
    public long getRegisteredBytes() {
        return registeredBytes.getAsLong();
    }
}
