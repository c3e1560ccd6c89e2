package io.rdmashuffle.integration;

import io.rdmashuffle.spark.RdmaShuffle;
import java.util.Map;
import java.util.TreeMap;

/** What our shuffle manager reports on the driver. */
final class RdmaShuffleAccount implements ShuffleAccount {
    @Override
    public RunSummary.Traffic total() {
        var report = RdmaShuffle.report();
        return new RunSummary.Traffic(
                report.rdmaBytes(), report.rdmaBlocks(), report.tcpBytes(), report.tcpBlocks(), report.fallbacks());
    }

    @Override
    public Map<String, RunSummary.Transport> executors() {
        Map<String, RunSummary.Transport> executors = new TreeMap<>();
        RdmaShuffle.report()
                .executors()
                .forEach((id, transport) -> executors.put(
                        id, new RunSummary.Transport(transport.rdma(), transport.device(), transport.reason())));
        return executors;
    }
}
