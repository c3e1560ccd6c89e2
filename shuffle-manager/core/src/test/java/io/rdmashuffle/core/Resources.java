package io.rdmashuffle.core;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Live verbs objects and threads, to show that nothing is left over. softverbs counts those of this process; on a real device the
 * kernel counts those of the whole machine, its own included, so only differences mean something.
 */
record Resources(int pds, int cqs, int qps, int cmIds, int mrs, int threads) {

    private static final String SOFTVERBS = System.getenv("SOFTVERBS_RESOURCES");

    static Resources now() {
        try {
            return SOFTVERBS != null ? ofSoftverbs() : ofKernel();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The order of enum sv_resource in softverbs.h. */
    private static Resources ofSoftverbs() throws IOException {
        Path file = Path.of(SOFTVERBS, Long.toString(ProcessHandle.current().pid()));
        if (!Files.exists(file)) {
            return new Resources(0, 0, 0, 0, 0, threadCount());
        }
        ByteBuffer counts = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
        return new Resources(
                counts.getInt(), counts.getInt(), counts.getInt(), counts.getInt(), counts.getInt(), threadCount());
    }

    /**
     * A line for each device: {@code 0: rxe_a: pd 2 cq 1 qp 2 cm_id 1 mr 0 ctx 1}. PDs are left out, as librdmacm keeps one for each
     * device for the life of the process.
     */
    private static Resources ofKernel() throws IOException {
        Process rdma = new ProcessBuilder("rdma", "resource", "show")
                .redirectErrorStream(true)
                .start();
        String text = new String(rdma.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Resources(0, sum(text, "cq"), sum(text, "qp"), sum(text, "cm_id"), sum(text, "mr"), threadCount());
    }

    private static int sum(String text, String kind) {
        Matcher matcher = Pattern.compile("\\b" + kind + " (\\d+)").matcher(text);
        int sum = 0;
        while (matcher.find()) {
            sum += Integer.parseInt(matcher.group(1));
        }
        return sum;
    }

    private static int threadCount() {
        return (int) Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("rdma-shuffle"))
                .count();
    }
}
