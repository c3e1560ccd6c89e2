package io.rdmashuffle.core.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The doctor's pointers into docs/troubleshooting.md lead somewhere. */
class TroubleshootingPageTest {

    @Test
    void each_check_has_its_section_in_the_order_of_the_checks() throws Exception {
        List<String> sections = Files.readAllLines(Path.of("../../docs/troubleshooting.md")).stream()
                .filter(line -> line.startsWith("### "))
                .map(line -> line.substring(4))
                .toList();
        Stream<Check> peer = new PeerVisit(new InetSocketAddress("localhost", 1), new byte[16]).checks().stream();
        assertEquals(Stream.concat(Doctor.checks(), peer).map(Check::name).toList(), sections);
    }
}
