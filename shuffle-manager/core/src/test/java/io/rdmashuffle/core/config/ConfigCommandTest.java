package io.rdmashuffle.core.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigCommandTest {

    @Test
    void the_page_in_docs_is_what_the_command_writes() throws Exception {
        assertEquals(Files.readString(Path.of("../../docs/configuration.md")), ConfigCommand.markdown());
    }
}
