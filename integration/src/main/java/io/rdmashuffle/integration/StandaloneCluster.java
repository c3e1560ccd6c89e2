package io.rdmashuffle.integration;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.master.Master;
import org.apache.spark.deploy.worker.Worker;
import org.apache.spark.rpc.RpcEnv;
import scala.Option;

/**
 * Spark's master and one worker for each host in this JVM, each worker on an address of its own, so that executors on one machine
 * reach each other as several hosts do. As a program, {@code StandaloneCluster HOST-A HOST-B WORKER-MB WORK-DIR} prints the
 * master's URL and runs until it is killed.
 */
public final class StandaloneCluster implements AutoCloseable {
    private static final int ANY_PORT = 0;

    private final List<RpcEnv> environments = new ArrayList<>();

    /**
     * Starts it.
     *
     * @param hosts addresses of this machine, the first also the master's
     * @param memoryMb what each worker offers beside its one core
     */
    StandaloneCluster(List<String> hosts, int memoryMb, String workDir) {
        var conf = new SparkConf().set("spark.master.rest.enabled", "false");
        environments.add(Master.startRpcEnvAndEndpoint(hosts.get(0), ANY_PORT, ANY_PORT, conf)
                ._1());
        for (int worker = 0; worker < hosts.size(); worker++) {
            environments.add(Worker.startRpcEnvAndEndpoint(
                    hosts.get(worker),
                    ANY_PORT,
                    ANY_PORT,
                    1,
                    memoryMb,
                    new String[] {url()},
                    workDir + "/worker-" + worker,
                    Option.apply(worker),
                    conf,
                    Option.empty()));
        }
    }

    String url() {
        return environments.get(0).address().toSparkURL();
    }

    @Override
    public void close() {
        environments.forEach(RpcEnv::shutdown);
        environments.forEach(RpcEnv::awaitTermination);
    }

    public static void main(String[] args) {
        var cluster = new StandaloneCluster(List.of(args[0], args[1]), Integer.parseInt(args[2]), args[3]);
        System.out.println(cluster.url());
        cluster.environments.get(0).awaitTermination();
    }
}
