package io.rdmashuffle.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RestartWaitTest {

    private final Configuration conf = new Configuration(false);
    private final AtomicInteger waits = new AtomicInteger();
    private ServerSocket socket;
    private URL url;

    @BeforeEach
    void end() throws IOException {
        conf.set("yarn.nodemanager.recovery.enabled", "true");
        conf.set("mapreduce.reduce.shuffle.fetch.retry.interval-ms", "1");
        socket = listen(0);
        url = new URL("http", "127.0.0.1", socket.getLocalPort(), "/mapOutput?job=job_1_0001");
        socket.close();
    }

    @AfterEach
    void close() throws IOException {
        socket.close();
    }

    private static ServerSocket listen(int port) throws IOException {
        return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
    }

    @Test
    void it_ends_when_the_node_manager_listens_again() {
        assertFalse(new RestartWait(conf).await(FallbackReason.CONNECTION_LOST, url, () -> {
            if (waits.incrementAndGet() == 3) {
                try {
                    socket = listen(url.getPort());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }));
        assertEquals(3, waits.get());
    }

    @Test
    void a_node_manager_that_is_ending_is_waited_for_too() throws Exception {
        socket = listen(url.getPort());
        CompletableFuture<Socket> second = CompletableFuture.supplyAsync(() -> {
            try {
                socket.accept().close();
                return socket.accept();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        assertFalse(new RestartWait(conf).await(FallbackReason.CONNECTION_LOST, url, waits::incrementAndGet));
        assertEquals(1, waits.get());
        second.get().close();
    }

    @Test
    void it_ends_when_the_time_is_over() {
        conf.set("mapreduce.reduce.shuffle.fetch.retry.timeout-ms", "50");
        assertFalse(new RestartWait(conf).await(FallbackReason.CONNECTION_LOST, url, waits::incrementAndGet));
        assertTrue(waits.get() > 0);
    }

    @Test
    void there_is_none_where_node_managers_do_not_recover() {
        conf.set("yarn.nodemanager.recovery.enabled", "false");
        assertFalse(new RestartWait(conf).await(FallbackReason.CONNECTION_LOST, url, waits::incrementAndGet));
        assertEquals(0, waits.get());
    }

    @Test
    void a_node_manager_that_has_just_answered_is_not_waited_for() {
        assertFalse(new RestartWait(conf).await(FallbackReason.CORRUPT, url, waits::incrementAndGet));
        assertEquals(0, waits.get());
    }

    @Test
    void an_interrupt_ends_it_and_is_told() {
        assertTrue(new RestartWait(conf).await(FallbackReason.CONNECTION_LOST, url, Thread.currentThread()::interrupt));
        assertTrue(Thread.interrupted());
    }
}
