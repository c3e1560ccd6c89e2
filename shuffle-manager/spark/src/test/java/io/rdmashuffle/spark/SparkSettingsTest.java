package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class SparkSettingsTest {

    private static final String TABLE = "| wire is to be encrypted";

    /** Ways to ask for encryption of the wire; authentication alone is none. */
    private static final List<String> WIRE =
            List.of("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled");

    private static final String AUTHENTICATE = "spark.authenticate";
    private static final String FILES = "spark.io.encryption.enabled";
    private static final String CLEARTEXT = "spark.shuffle.rdma.allowCleartext";

    /** A row of the table in docs/security.md: yes, no, true, false or any, and what blocks go over. */
    private record Row(String wire, String files, String cleartext, String over) {

        boolean isFor(boolean wireWanted, boolean filesWanted, boolean cleartextAllowed) {
            return says(wire, wireWanted) && says(files, filesWanted) && says(cleartext, cleartextAllowed);
        }

        private static boolean says(String cell, boolean value) {
            return cell.equals("any") || (cell.equals("yes") || cell.equals("true")) == value;
        }
    }

    @Test
    void every_combination_of_settings_ends_as_the_table_of_the_security_page_says() throws IOException {
        List<Row> table = table();
        for (int bits = 0; bits < 1 << 6; bits++) {
            boolean wire = (bits & 7) != 0;
            boolean files = (bits & 8) != 0;
            boolean cleartext = (bits & 16) != 0;
            SparkConf conf = new SparkConf(false)
                    .set(FILES, Boolean.toString(files))
                    .set(CLEARTEXT, Boolean.toString(cleartext))
                    .set(AUTHENTICATE, Boolean.toString((bits & 32) != 0));
            for (int way = 0; way < WIRE.size(); way++) {
                conf.set(WIRE.get(way), Boolean.toString((bits & 1 << way) != 0));
            }
            List<Row> rows = table.stream()
                    .filter(row -> row.isFor(wire, files, cleartext))
                    .toList();
            assertEquals(1, rows.size(), () -> conf.toDebugString() + "\nrows: " + rows);
            boolean staysOnTcp = rows.get(0).over.startsWith("TCP");
            assertEquals(
                    staysOnTcp, SparkSettings.wantsEncryption(conf, SparkSettings.read(conf)), conf::toDebugString);
        }
    }

    private static List<Row> table() throws IOException {
        return Files.readString(Path.of("../../docs/security.md"))
                .lines()
                .dropWhile(line -> !line.startsWith(TABLE))
                .skip(2)
                .takeWhile(line -> line.startsWith("|"))
                .map(line -> Arrays.stream(line.split("\\|")).map(String::trim).toArray(String[]::new))
                .map(cells -> new Row(cells[1], cells[2], cells[3], cells[4]))
                .toList();
    }
}
