package io.rdmashuffle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.Directory;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.directory.MessageCodec;
import io.rdmashuffle.core.directory.Placement;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The driver's directory at scale, by simulation: one thread, as the endpoint has one, handles the encoded messages of all executors.
 * {@code DirectoryBench [--maps N] [--executors N] [--reduces N] [--seed N] [--json FILE]}.
 */
public final class DirectoryBench {

    private static final int SHUFFLE = 1;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final int maps;
    private final int executors;
    private final int reduces;
    private final Random random;
    private final Directory directory = new Directory();
    private long longestCallNanos;
    private long longestCallCpuNanos;
    private long cpuNanos;

    private DirectoryBench(Options options) {
        maps = options.number("maps", 100_000);
        executors = options.number("executors", 1000);
        reduces = options.number("reduces", 1000);
        random = new Random(options.number("seed", 1));
    }

    public static void main(String[] args) throws IOException, MalformedMessageException {
        Options options = new Options(args);
        new DirectoryBench(new Options(new String[] {"--maps", "20000", "--executors", "100"}))
                .run(); // warms the compiler
        Map<String, Object> result = new DirectoryBench(options).run();
        result.put("command", options.text("command", ""));
        result.forEach((name, value) -> System.out.printf("%-28s %s%n", name, value));
        if (!options.text("json", "").isEmpty()) {
            new ObjectMapper()
                    .writerWithDefaultPrettyPrinter()
                    .writeValue(Path.of(options.text("json", "")).toFile(), result);
        }
    }

    private Map<String, Object> run() throws MalformedMessageException {
        for (int executor = 0; executor < executors; executor++) {
            call(MessageCodec.encode(hello(executor)));
        }
        long heapBefore = usedHeap();
        longestCallNanos = 0;
        longestCallCpuNanos = 0;
        long publishNanos = 0;
        cpuNanos = 0;
        for (int map = 0; map < maps; map++) {
            publishNanos += call(MessageCodec.encode(publish(map)));
        }
        long publishCpuNanos = cpuNanos;
        long heapBytes = usedHeap() - heapBefore;
        byte[] question = MessageCodec.encode(new Message.Locate(SHUFFLE));
        long encodeNanos = call(question);
        byte[] answer = directory.handle(question);
        long locateNanos = 0;
        for (int executor = 0; executor < executors; executor++) {
            locateNanos += call(question);
        }
        long decodeStart = System.nanoTime();
        MessageCodec.decode(answer);
        long decodeNanos = System.nanoTime() - decodeStart;
        long lossNanos = timed(() -> directory.removeExecutor("0"));

        Map<String, Object> result = new LinkedHashMap<>();
        result.put("maps", maps);
        result.put("executors", executors);
        result.put("publishes_per_s", Math.round(maps / seconds(publishNanos)));
        // where other work takes the processors, CPU time tells more
        result.put("publishes_per_cpu_s", Math.round(maps / seconds(publishCpuNanos)));
        result.put("driver_bytes_per_map", Math.round((double) heapBytes / maps));
        result.put("kept_answer_bytes_per_map", (double) answer.length / maps);
        result.put("locate_bytes_per_executor", answer.length);
        result.put("encode_answer_ms", encodeNanos / 1e6);
        result.put("locate_all_s", seconds(locateNanos));
        result.put("decode_on_executor_ms", decodeNanos / 1e6);
        result.put("remove_executor_ms", lossNanos / 1e6);
        result.put("longest_call_ms", longestCallNanos / 1e6);
        result.put("longest_call_cpu_ms", longestCallCpuNanos / 1e6);
        result.put("machine", Machine.description());
        return result;
    }

    /** @return nanoseconds by the clock */
    private long call(byte[] message) throws MalformedMessageException {
        return timed(() -> directory.handle(message));
    }

    private interface Call {
        void run() throws MalformedMessageException;
    }

    private long timed(Call call) throws MalformedMessageException {
        long cpuStart = THREADS.getCurrentThreadCpuTime();
        long start = System.nanoTime();
        call.run();
        long nanos = System.nanoTime() - start;
        long cpu = THREADS.getCurrentThreadCpuTime() - cpuStart;
        longestCallNanos = Math.max(longestCallNanos, nanos);
        longestCallCpuNanos = Math.max(longestCallCpuNanos, cpu);
        cpuNanos += cpu;
        return nanos;
    }

    private Message.Hello hello(int executor) {
        Owner owner = new Owner(String.valueOf(executor), executor + 1L, List.of(address(executor)));
        return new Message.Hello(String.valueOf(executor), executor + 1L, owner, "mlx5_0", "");
    }

    /** As a real executor's: files of some megabytes mapped near each other, rows of the offsets region in sequence. */
    private Message.Publish publish(int map) {
        long incarnation = map % executors + 1L;
        int number = map / executors;
        long dataAddress = 0x7f00_0000_0000L + ((long) number << 24);
        long dataBytes = (8L << 20) + random.nextInt(1 << 20);
        long offsetsAddress = 0x7e00_0000_0000L + (long) number * 8 * (reduces + 1);
        return new Message.Publish(
                SHUFFLE,
                incarnation,
                new MapOutputLocation(
                        map, Placement.DIRECT, dataAddress, random.nextInt(), dataBytes, offsetsAddress, 7, reduces));
    }

    private static InetSocketAddress address(int executor) {
        try {
            byte[] address = {10, 0, (byte) (executor >> 8), (byte) executor};
            return new InetSocketAddress(InetAddress.getByAddress(address), 40000 + executor % 1000);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static long usedHeap() {
        System.gc();
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private static double seconds(long nanos) {
        return nanos / 1e9;
    }
}
