package io.rdmashuffle.spark;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.DriverChannel;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.spark.yarn.ServiceAnswer;
import io.rdmashuffle.spark.yarn.ServiceRequest;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes the map outputs of this executor as served by the shuffle service of its host, so that they stay readable when it leaves. In the
 * directory the service is one more process, whose map outputs go by this executor's name. Any thread.
 */
final class ServedPublisher {

    private static final Logger LOG = LoggerFactory.getLogger(ServedPublisher.class);

    private final Connector connector;
    private final String appId;
    private final String execId;
    private final byte[] secret;
    private final DriverChannel driver;
    private final long timeoutMillis;
    private final Counters counters;
    private Owner service; // under this; null before the first answer
    private DirectoryClient directory; // under this; speaks for that service
    private volatile boolean absent;
    private volatile boolean holds; // the service holds map outputs of this executor, or may do so

    /** Gives a connection to the service. */
    interface Connector {
        TransportClient connect() throws IOException;
    }

    /**
     * @param execId by which this executor has registered with the service
     * @param secret the application's
     * @param timeoutMillis for an answer of the service, and of the driver
     */
    ServedPublisher(
            Connector connector,
            String appId,
            String execId,
            byte[] secret,
            DriverChannel driver,
            long timeoutMillis,
            Counters counters) {
        this.connector = connector;
        this.appId = appId;
        this.execId = execId;
        this.secret = secret;
        this.driver = driver;
        this.timeoutMillis = timeoutMillis;
        this.counters = counters;
    }

    /**
     * Has the service serve the map output, and announces it. Waits for the service, so on a task thread only.
     *
     * @param partitions R, the number of reduce partitions
     * @return as of {@link io.rdmashuffle.core.publish.MapOutputPublisher#publish}; null when the service serves nothing over RDMA, or does not
     *     answer: then for good
     * @throws NotPublishedException when this map output is to be read over TCP
     */
    CompletableFuture<Void> publish(int shuffleId, long mapId, int partitions) throws NotPublishedException {
        long start = System.nanoTime();
        ServiceAnswer answer = absent ? null : ask(shuffleId, mapId, partitions);
        if (answer instanceof ServiceAnswer.Refused refused) {
            if (refused.reason() != FallbackReason.UNAVAILABLE) {
                throw new NotPublishedException(refused.reason(), "by the shuffle service: " + refused.detail(), null);
            }
            giveUp(refused.detail());
        }
        if (!(answer instanceof ServiceAnswer.Served served)) {
            return null;
        }
        holds = true;
        CompletableFuture<Void> confirmed = directoryFor(served.owner()).publish(shuffleId, served.location());
        counters.add(Counter.PUBLISH_NANOS, System.nanoTime() - start);
        counters.add(Counter.PUBLISHED_OUTPUTS, 1);
        counters.add(Counter.PUBLISHED_BYTES, served.location().dataBytes());
        return confirmed.exceptionallyCompose(e -> CompletableFuture.failedFuture(NotPublishedException.of(e)));
    }

    /** The shuffle was removed. Does not wait. */
    void removeShuffle(int shuffleId) {
        if (!holds) {
            return;
        }
        try {
            connector
                    .connect()
                    .sendRpc(new ServiceRequest.Forget(appId, shuffleId).encode(), new RpcResponseCallback() {
                        @Override
                        public void onSuccess(ByteBuffer nothing) {}

                        @Override
                        public void onFailure(Throwable e) {
                            LOG.debug("the shuffle service was not told of removed shuffle {}", shuffleId, e);
                        }
                    });
        } catch (IOException e) {
            LOG.debug("the shuffle service was not told of removed shuffle {}", shuffleId, e);
        }
    }

    /** Null when there is no answer. */
    private ServiceAnswer ask(int shuffleId, long mapId, int partitions) throws NotPublishedException {
        ByteBuffer question = new ServiceRequest.Serve(appId, execId, secret, shuffleId, mapId, partitions).encode();
        try {
            return ServiceAnswer.decode(connector.connect().sendRpcSync(question, timeoutMillis));
        } catch (IOException | RuntimeException e) { // as Spark's client throws what the service answered
            if (e.getCause() instanceof InterruptedException) {
                Thread.currentThread().interrupt();
                throw new NotPublishedException(FallbackReason.PUBLISH_FAILED, "the task was interrupted", e);
            }
            LOG.debug("no answer", e);
            holds |= e.getCause() instanceof TimeoutException; // it may still come to it
            giveUp("it does not know RDMA, or does not answer");
            return null;
        }
    }

    private void giveUp(String cause) {
        absent = true;
        LOG.info(
                "RDMA shuffle: the shuffle service of this host serves nothing over RDMA, because {};"
                        + " when this executor leaves, its map outputs are read over TCP",
                cause);
    }

    /** Introduces the service to the driver, again when it has started anew. */
    private synchronized DirectoryClient directoryFor(Owner owner) throws NotPublishedException {
        if (!owner.equals(service)) {
            long identity = new SecureRandom().nextLong();
            DirectoryClient client = new DirectoryClient(driver, identity, timeoutMillis);
            try {
                client.hello(new Message.Hello(
                        "shuffle service for " + owner.executorId(), identity, owner, "of the NodeManager", ""));
            } catch (IOException e) {
                throw NotPublishedException.of(e);
            }
            directory = client;
            service = owner;
        }
        return directory;
    }
}
