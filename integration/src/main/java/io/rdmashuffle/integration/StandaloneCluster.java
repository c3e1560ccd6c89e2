package io.rdmashuffle.integration;

import org.apache.spark.SparkConf;
import org.apache.spark.deploy.master.Master;
import org.apache.spark.deploy.worker.Worker;
import org.apache.spark.rpc.RpcEnv;
import scala.Option;

/**
 * Spark's master and two workers in one JVM, each worker on an address of its own, so that executors on one machine reach
 * each other as two hosts do: {@code StandaloneCluster HOST-A HOST-B WORKER-MB WORK-DIR}. Prints the master's URL and runs
 * until it is killed.
 */
public final class StandaloneCluster {
    private static final int ANY_PORT = 0;

    private StandaloneCluster() {}

    public static void main(String[] args) {
        int memoryMb = Integer.parseInt(args[2]);
        var conf = new SparkConf().set("spark.master.rest.enabled", "false");
        RpcEnv master =
                Master.startRpcEnvAndEndpoint(args[0], ANY_PORT, ANY_PORT, conf)._1();
        String url = master.address().toSparkURL();
        for (int worker = 0; worker < 2; worker++) {
            Worker.startRpcEnvAndEndpoint(
                    args[worker],
                    ANY_PORT,
                    ANY_PORT,
                    1,
                    memoryMb,
                    new String[] {url},
                    args[3] + "/worker-" + worker,
                    Option.apply(worker),
                    conf,
                    Option.empty());
        }
        System.out.println(url);
        master.awaitTermination();
    }
}
