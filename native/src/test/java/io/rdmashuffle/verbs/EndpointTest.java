package io.rdmashuffle.verbs;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class EndpointTest {
    private static final int FOREVER = -1;

    private final EventBatch events = new EventBatch(16, 4);

    @BeforeEach
    void a_device() {
        TestDevice.require();
    }

    private static VerbsEndpoint open() throws VerbsException {
        return VerbsEndpoint.open(TestDevice.address(), 8, 256);
    }

    @Test
    void each_listens_on_a_port_of_its_own() throws VerbsException {
        try (VerbsEndpoint one = open();
                VerbsEndpoint two = open()) {
            assertEquals(TestDevice.address(), one.listenAddress().getAddress());
            assertTrue(one.listenAddress().getPort() > 0);
            assertNotEquals(one.listenAddress(), two.listenAddress());
            assertTrue(Rdma.devices().stream()
                    .anyMatch(device -> device.name().equals(one.device().name())));
        }
    }

    @Test
    void an_address_without_device_is_refused() throws Exception {
        InetAddress everywhere = InetAddress.getByName("0.0.0.0");
        VerbsException failure = assertThrows(VerbsException.class, () -> VerbsEndpoint.open(everywhere, 8, 256));
        assertEquals("no RDMA device at this address", failure.step());
        assertTrue(failure.getMessage().contains("rdma link"), failure.getMessage());
    }

    @Test
    void a_completion_queue_beyond_the_device_is_refused_and_leaks_nothing() throws VerbsException {
        int tooMany;
        try (VerbsEndpoint endpoint = open()) {
            tooMany = endpoint.device().maxCqe() + 1;
        }
        for (int i = 0; i < 100; i++) {
            VerbsException failure =
                    assertThrows(VerbsException.class, () -> VerbsEndpoint.open(TestDevice.address(), 8, tooMany));
            assertEquals("ibv_create_cq", failure.step());
        }
    }

    @Test
    void poll_without_wait_returns_at_once() throws VerbsException {
        try (VerbsEndpoint endpoint = open()) {
            assertEquals(0, endpoint.poll(events, 0));
            assertEquals(0, events.completions() + events.cmEvents() + events.asyncEvents());
        }
    }

    @Test
    void poll_waits_no_longer_than_told() throws VerbsException {
        try (VerbsEndpoint endpoint = open()) {
            long start = System.nanoTime();
            assertEquals(0, endpoint.poll(events, 50));
            assertTrue(System.nanoTime() - start >= 45_000_000L);
        }
    }

    @Test
    void who_has_nothing_to_do_does_not_spin() throws VerbsException {
        try (VerbsEndpoint endpoint = open()) {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadCpuTime();
            for (int i = 0; i < 20; i++) {
                endpoint.poll(events, 20, 10_000);
            }
            long spunMillis = TimeUnit.NANOSECONDS.toMillis(threads.getCurrentThreadCpuTime() - before);
            assertTrue(spunMillis < 100, spunMillis + " ms of 400"); // 200 if each had spun
        }
    }

    @Test
    void waking_ends_a_poll() throws Exception {
        try (VerbsEndpoint endpoint = open()) {
            CompletableFuture<Integer> poll = pollInBackground(endpoint);
            endpoint.wake();
            assertEquals(0, poll.get(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void waking_before_a_poll_ends_it_too_and_once() throws VerbsException {
        try (VerbsEndpoint endpoint = open()) {
            endpoint.wake();
            endpoint.wake();
            assertEquals(0, endpoint.poll(events, FOREVER));
            assertEquals(0, endpoint.poll(events, 10));
        }
    }

    @Test
    void closing_waits_for_the_poll_that_it_ends() throws Exception {
        VerbsEndpoint endpoint = open();
        CompletableFuture<Integer> poll = pollInBackground(endpoint);
        endpoint.close();
        assertTrue(poll.isDone() || poll.get(30, TimeUnit.SECONDS) == 0);
    }

    @Test
    void closing_ends_a_loop_wherever_it_is() throws Exception {
        for (int i = 0; i < 100; i++) {
            VerbsEndpoint endpoint = open();
            CompletableFuture<Void> loop = CompletableFuture.runAsync(() -> pollUntilClosed(endpoint));
            endpoint.wake();
            endpoint.close();
            loop.get(30, TimeUnit.SECONDS);
        }
    }

    private static void pollUntilClosed(VerbsEndpoint endpoint) {
        EventBatch out = new EventBatch(1, 1);
        try {
            while (true) {
                endpoint.poll(out, FOREVER);
            }
        } catch (VerbsException e) {
            throw new AssertionError(e);
        } catch (IllegalStateException closed) {
            return;
        }
    }

    private CompletableFuture<Integer> pollInBackground(VerbsEndpoint endpoint) {
        Thread[] poller = new Thread[1];
        CompletableFuture<Integer> result = new CompletableFuture<>();
        poller[0] = new Thread(() -> {
            try {
                result.complete(endpoint.poll(events, FOREVER));
            } catch (VerbsException | RuntimeException e) {
                result.completeExceptionally(e);
            }
        });
        poller[0].start();
        await().atMost(Duration.ofSeconds(30)).until(() -> inNative(poller[0]));
        return result;
    }

    private static boolean inNative(Thread thread) {
        StackTraceElement[] stack = thread.getStackTrace();
        return stack.length > 0 && stack[0].isNativeMethod();
    }

    @Test
    void a_closed_endpoint_refuses_every_use() throws VerbsException {
        VerbsEndpoint endpoint = open();
        endpoint.close();
        endpoint.close();
        endpoint.wake();
        assertThrows(IllegalStateException.class, () -> endpoint.poll(events, 0));
        assertThrows(
                IllegalStateException.class,
                () -> endpoint.resolve(TestDevice.address(), endpoint.listenAddress(), 100));
        assertThrows(IllegalStateException.class, () -> endpoint.register(4096, 4096, 0));
        assertThrows(IllegalStateException.class, () -> endpoint.incoming(events, 0));
    }

    @Test
    void an_unresolved_peer_is_refused() throws VerbsException {
        try (VerbsEndpoint endpoint = open()) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> endpoint.resolve(
                            TestDevice.address(), InetSocketAddress.createUnresolved("nowhere", 1), 100));
        }
    }

    @Test
    void regions_close_in_any_order_and_once() throws VerbsException {
        try (NativeMemory memory = NativeMemory.allocate(1 << 20)) {
            VerbsEndpoint endpoint = open();
            MemoryRegion one = endpoint.register(memory.address(), memory.lengthBytes(), Access.REMOTE_READ);
            MemoryRegion two = endpoint.register(memory.address() + 100, 1000, Access.LOCAL_WRITE);
            assertEquals(memory.address() + 100, two.address());
            assertEquals(1000, two.lengthBytes());
            assertNotEquals(one.rkey(), two.rkey());
            one.close();
            one.close();
            endpoint.close();
            two.close();
        }
    }

    @Test
    void a_region_never_shows_its_keys() throws VerbsException {
        try (NativeMemory memory = NativeMemory.allocate(4096);
                VerbsEndpoint endpoint = open();
                MemoryRegion region = endpoint.register(memory.address(), 4096, Access.REMOTE_READ)) {
            String address = Long.toHexString(memory.address());
            assertEquals("MemoryRegion[address=0x" + address + ", lengthBytes=4096]", region.toString());
        }
    }

    @Test
    void memory_that_is_not_mapped_cannot_be_registered() throws VerbsException {
        try (VerbsEndpoint endpoint = open()) {
            VerbsException failure =
                    assertThrows(VerbsException.class, () -> endpoint.register(1L << 46, 1 << 20, Access.REMOTE_READ));
            assertEquals("ibv_reg_mr", failure.step());
            assertThrows(IllegalArgumentException.class, () -> endpoint.register(4096, 0, Access.REMOTE_READ));
        }
    }

    @Test
    void many_threads_register_while_one_closes() throws Exception {
        try (NativeMemory memory = NativeMemory.allocate(1 << 16)) {
            VerbsEndpoint endpoint = open();
            CompletableFuture<?>[] workers = new CompletableFuture<?>[4];
            for (int i = 0; i < workers.length; i++) {
                workers[i] = CompletableFuture.runAsync(() -> registerUntilClosed(endpoint, memory));
            }
            for (int i = 0; i < 20; i++) {
                endpoint.poll(events, 1);
            }
            endpoint.close();
            CompletableFuture.allOf(workers).get(60, TimeUnit.SECONDS);
            assertFalse(workers[0].isCompletedExceptionally());
        }
    }

    private static void registerUntilClosed(VerbsEndpoint endpoint, NativeMemory memory) {
        try {
            while (true) {
                endpoint.register(memory.address(), memory.lengthBytes(), Access.REMOTE_READ)
                        .close();
                endpoint.wake();
            }
        } catch (VerbsException e) {
            throw new AssertionError(e);
        } catch (IllegalStateException closed) {
            return;
        }
    }
}
