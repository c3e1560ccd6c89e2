package io.rdmashuffle.core.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConfigCommandTest {

    @Test
    void the_page_in_docs_is_what_the_command_writes() throws Exception {
        assertEquals(Files.readString(Path.of("../../docs/configuration.md")), ConfigCommand.markdown());
    }

    @Test
    void programs_get_every_setting(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("settings.json");
        assertEquals(0, ConfigCommand.run(List.of("--json", file.toString()), System.out, System.err));
        String json = Files.readString(file);
        for (Setting<?> setting : RdmaConfig.table()) {
            assertTrue(
                    json.contains("{\"name\":\"spark.shuffle.rdma." + setting.name() + "\",\"type\":\"" + setting.type()
                            + "\""),
                    json);
        }
    }

    @Test
    void a_wrong_option_is_one_line_that_names_it() throws Exception {
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        assertEquals(2, ConfigCommand.run(List.of("--markdwon"), System.out, new PrintStream(said)));
        assertEquals("config: unknown option '--markdwon'; see config --help\n", said.toString());
    }
}
