package io.rdmashuffle.integration.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultPageTest {

    @TempDir
    private Path folder;

    private String page(String... results) throws IOException {
        String[] args = new String[results.length + 3];
        args[0] = folder.resolve("page.html").toString();
        args[1] = "A title & more";
        args[2] = folder.resolve("plots").toString();
        for (int i = 0; i < results.length; i++) {
            Path result = folder.resolve(i + ".json");
            args[i + 3] = Files.writeString(result, results[i]).toString();
        }
        ResultPage.main(args);
        return Files.readString(folder.resolve("page.html"));
    }

    private static int plots(String page) {
        return page.split("<svg", -1).length - 1;
    }

    @Test
    void what_the_columns_allow_is_drawn_and_all_of_it_stands_in_the_table() throws Exception {
        String page = page("""
                {"command": "bin/rdma-shuffle bench reads", "rows": [
                  {"block_bytes": 4096, "ours_MBps": 9.5, "perftest_MBps": 10, "ratio": 0.95},
                  {"block_bytes": 65536, "ours_MBps": 18, "perftest_MBps": 17, "ratio": 1.0588}]}""");
        assertEquals(2, plots(page), "ratio and throughput, but no latency and no CPU");
        assertTrue(page.contains("<td>65,536</td><td>18</td><td>17</td><td>1.06</td>"), page);
        assertTrue(page.contains("bin/rdma-shuffle bench reads"));
        assertTrue(page.contains("<h1>A title &amp; more</h1>"));
        assertFalse(page.contains("<script"));
    }

    @Test
    void results_of_several_runs_stand_on_one_page() throws Exception {
        String run = """
                {"machine": {"kernel": "6.1"}, "transport": "softverbs", "rows": [{"maps": 500, "reduces": 500, "block_bytes": %d,
                  "sort_s": 4, "ours_s": 2, "ratio": 0.5, "owner_cpu_s_sort": 2, "owner_cpu_s_ours": 0.1}]}""";
        String page = page(run.formatted(2048), run.formatted(8192));
        assertTrue(page.contains("<td>8,192</td>") || page.contains("500 × 500 × 8,192 B"), page);
        assertTrue(
                page.contains(": 8,192 B<") && !page.contains("500 × 500 ×"), "they differ in the size alone: " + page);
        assertEquals(1, page.split("<td>6.1</td>", -1).length - 1, "one machine");
        assertTrue(page.contains("Not a measurement of RDMA hardware"));
        assertTrue(page.contains("4.19"), "CPU seconds per GiB: 2 s for 250,000 blocks of 2 KiB");
    }

    @Test
    void bars_of_many_queries_stand_in_several_plots() throws Exception {
        String rows = IntStream.range(0, 50)
                .mapToObj(query -> "{\"name\": \"q%d\", \"cpu_ratio\": 0.9}".formatted(query))
                .collect(Collectors.joining(", "));
        String page = page("{\"rows\": [" + rows + "]}");
        assertEquals(3, plots(page));
        assertTrue(Files.exists(folder.resolve("plots/cpu-of-all-processes-ours-to-stock-3.svg")));
        assertEquals(1, page.split("<h2>CPU of all processes", -1).length - 1, "under one heading");
    }

    @Test
    void a_fetch_is_drawn_as_a_time_line() throws Exception {
        String page = page("""
                {"rows": [{"maps": 5, "reduces": 5, "block_bytes": 2048, "fetch": {"blocks": 5, "bytes": 10240, "located_us": 10,
                  "offsets_us": 30, "first_block_us": 70, "last_block_us": 100}}]}""");
        assertEquals(1, plots(page));
        assertTrue(page.contains("Time line of one fetch"));
        assertTrue(page.contains("5 blocks, 10,240 bytes"), page);
    }

    @Test
    void a_result_without_rows_is_a_table() throws Exception {
        String page = page("{\"publishes_per_s\": 123456, \"driver_bytes_per_map\": 58}");
        assertEquals(0, plots(page));
        assertTrue(page.contains("<td>123,456</td><td>58</td>"), page);
    }
}
