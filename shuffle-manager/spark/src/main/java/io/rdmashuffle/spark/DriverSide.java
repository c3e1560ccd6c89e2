package io.rdmashuffle.spark;

import io.rdmashuffle.core.directory.Directory;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.metrics.Snapshot;
import io.rdmashuffle.spark.ui.RdmaShuffleTab;
import io.rdmashuffle.spark.ui.ReportStore;
import io.rdmashuffle.spark.ui.UiCompat;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.status.ElementTrackingStore;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.reflect.ClassTag$;

/** What the driver does: keeps the directory, reachable over Spark's RPC, and knows what executors report. */
final class DriverSide implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(DriverSide.class);

    private final Directory directory;
    private final RpcEnv rpcEnv;
    private final RpcEndpointRef endpoint;

    private DriverSide(Directory directory, RpcEnv rpcEnv, RpcEndpointRef endpoint) {
        this.directory = directory;
        this.rpcEnv = rpcEnv;
        this.endpoint = endpoint;
    }

    static DriverSide start(RpcEnv rpcEnv, SparkContext context) {
        Directory directory = new Directory();
        RpcEndpointRef endpoint =
                rpcEnv.setupEndpoint(DirectoryEndpoint.NAME, new DirectoryEndpoint(rpcEnv, directory));
        DriverSide side = new DriverSide(directory, rpcEnv, endpoint);
        context.env()
                .metricsSystem()
                .registerSource(new FiguresSource(() -> side.summary().figures()));
        context.addSparkListener(new ApplicationListener(context.listenerBus(), directory, side::summary));
        if (context.ui().isDefined() && UiCompat.supportsPages()) {
            context.addSparkListener(
                    new ReportStore((ElementTrackingStore) context.statusStore().store()));
            RdmaShuffleTab.attach(
                    context.ui().get(),
                    () -> ApplicationListener.reports(side.summary().executors()));
        }
        return side;
    }

    void removeShuffle(int shuffleId) {
        directory.removeShuffle(shuffleId);
    }

    /** Goes through the endpoint's queue first, so that the reports of ended tasks are in. */
    ApplicationReport report() {
        endpoint.askSync(DirectoryEndpoint.BARRIER, ClassTag$.MODULE$.apply(byte[].class));
        return summary();
    }

    static ApplicationReport nothingYet() {
        return new ApplicationReport(Map.of(), 0, Snapshot.zero());
    }

    @Override
    public void close() {
        ApplicationReport summary = summary();
        LOG.info(
                "RDMA shuffle: application read {} bytes by RDMA, {} bytes by TCP; fallbacks {}",
                summary.rdmaBytes(),
                summary.tcpBytes(),
                summary.fallbacks());
        rpcEnv.stop(endpoint);
    }

    private ApplicationReport summary() {
        Map<Long, Snapshot> reports = directory.reports();
        Map<String, ExecutorTransport> executors = new LinkedHashMap<>();
        for (Message.Hello hello : directory.executors()) {
            Snapshot figures = reports.getOrDefault(hello.incarnation(), Snapshot.zero());
            executors.put(
                    hello.executorId(),
                    new ExecutorTransport(hello.owner() != null, hello.device(), hello.cause(), figures));
        }
        Snapshot total = reports.values().stream().reduce(directory.figures(), Snapshot::plus);
        return new ApplicationReport(executors, directory.publishedOutputs(), total);
    }
}
