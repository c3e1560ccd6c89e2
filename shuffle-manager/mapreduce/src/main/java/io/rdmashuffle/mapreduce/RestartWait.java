package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Waits for a NodeManager that is being restarted. A reader over RDMA learns of its end at once; the stock fetcher would then be refused,
 * and report the maps as lost. Waits as long as Hadoop's own settings for a fetch that broke off say. Any thread.
 */
final class RestartWait {

    private static final int CONNECT_MILLIS = 1000;
    private static final int ENDING_MILLIS = 500; // a process gives its memory back before its sockets
    private static final long DEFAULT_TIMEOUT_MILLIS = 30_000; // as of mapred-default.xml
    private static final long DEFAULT_INTERVAL_MILLIS = 1000;

    /** With all others the NodeManager is known to be there, or has nothing to do with it. */
    private static final Set<FallbackReason> MAY_BE_GONE = EnumSet.of(
            FallbackReason.DIRECTORY_UNREACHABLE,
            FallbackReason.CONNECT_FAILED,
            FallbackReason.CONNECT_REJECTED, // nobody listens
            FallbackReason.QUARANTINED,
            FallbackReason.CONNECTION_LOST,
            FallbackReason.READ_FAILED,
            FallbackReason.READ_TIMEOUT);

    private final long timeoutMillis;
    private final long intervalMillis;

    RestartWait(Configuration job) {
        boolean recovers =
                job.getBoolean(YarnConfiguration.NM_RECOVERY_ENABLED, YarnConfiguration.DEFAULT_NM_RECOVERY_ENABLED);
        boolean retries = job.getBoolean(MRJobConfig.SHUFFLE_FETCH_RETRY_ENABLED, recovers);
        this.timeoutMillis =
                retries ? job.getLong(MRJobConfig.SHUFFLE_FETCH_RETRY_TIMEOUT_MS, DEFAULT_TIMEOUT_MILLIS) : 0;
        this.intervalMillis = job.getLong(MRJobConfig.SHUFFLE_FETCH_RETRY_INTERVAL_MS, DEFAULT_INTERVAL_MILLIS);
    }

    /**
     * @param whyNot why the map outputs were not read over RDMA
     * @param progress told while waiting
     * @return whether the thread was interrupted; else HTTP is worth a try, or must be the judge
     */
    boolean await(FallbackReason whyNot, URL shuffleUrl, Runnable progress) {
        if (!MAY_BE_GONE.contains(whyNot)) {
            return false;
        }
        InetSocketAddress address = new InetSocketAddress(shuffleUrl.getHost(), shuffleUrl.getPort());
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
        try {
            while (deadline - System.nanoTime() > 0 && isDown(address)) {
                progress.run();
                Thread.sleep(intervalMillis);
            }
            return Thread.currentThread().isInterrupted();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    /** Nobody listens there, or nobody will in a moment. Whatever else is wrong is left to the stock fetcher. */
    private static boolean isDown(InetSocketAddress address) {
        try (Socket socket = new Socket()) {
            socket.connect(address, CONNECT_MILLIS);
            return ends(socket);
        } catch (ConnectException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** A process that is ending has its connections taken until its sockets are closed, and these with them. */
    private static boolean ends(Socket socket) throws SocketException {
        socket.setSoTimeout(ENDING_MILLIS);
        try {
            return socket.getInputStream().read() < 0;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException e) {
            return true; // reset
        }
    }
}
