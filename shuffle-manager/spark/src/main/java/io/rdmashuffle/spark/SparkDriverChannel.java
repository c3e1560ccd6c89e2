package io.rdmashuffle.spark;

import io.rdmashuffle.core.directory.DriverChannel;
import java.util.concurrent.CompletableFuture;
import org.apache.spark.SparkConf;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.util.RpcUtils;
import scala.concurrent.ExecutionContext;
import scala.concurrent.ExecutionContext$;
import scala.concurrent.Future;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** The way from an executor to the directory on the driver, over Spark's RPC. */
final class SparkDriverChannel implements DriverChannel {

    private static final ClassTag<byte[]> BYTES = ClassTag$.MODULE$.apply(byte[].class);
    private static final ExecutionContext SAME_THREAD = ExecutionContext$.MODULE$.fromExecutor(Runnable::run);

    private final RpcEndpointRef directory;

    /** Waits until the driver has named its endpoint. */
    SparkDriverChannel(SparkConf conf, RpcEnv rpcEnv) {
        directory = RpcUtils.makeDriverRef(DirectoryEndpoint.NAME, conf, rpcEnv);
    }

    @Override
    public CompletableFuture<byte[]> ask(byte[] message) {
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        Future<byte[]> future = directory.ask(message, BYTES);
        future.onComplete(
                outcome -> outcome.isSuccess()
                        ? answer.complete(outcome.get())
                        : answer.completeExceptionally(outcome.failed().get()),
                SAME_THREAD);
        return answer;
    }

    @Override
    public void send(byte[] message) {
        directory.send(message);
    }
}
