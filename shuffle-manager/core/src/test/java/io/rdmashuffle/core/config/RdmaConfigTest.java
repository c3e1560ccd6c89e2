package io.rdmashuffle.core.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class RdmaConfigTest {

    private static final String PREFIX = "spark.shuffle.rdma.";

    private static RdmaConfig with(String name, String value) {
        return new RdmaConfig(PREFIX, Map.of(PREFIX + name, value));
    }

    @Test
    void nothing_set_gives_the_documented_defaults() {
        RdmaConfig config = new RdmaConfig(PREFIX, Map.of());
        assertEquals(Mode.AUTO, config.get(RdmaConfig.MODE));
        assertEquals(4L << 30, config.get(RdmaConfig.PINNED_MAX_BYTES));
        assertEquals(2000, config.get(RdmaConfig.SINK_WAIT_MILLIS));
    }

    @Test
    void sizes_and_times_take_the_usual_units() {
        assertEquals(3L << 20, with("pinned.maxBytes", "3m").get(RdmaConfig.PINNED_MAX_BYTES));
        assertEquals(3L << 30, with("pinned.maxBytes", "3GB").get(RdmaConfig.PINNED_MAX_BYTES));
        assertEquals(2_097_152, with("pinned.maxBytes", "2097152").get(RdmaConfig.PINNED_MAX_BYTES));
        assertEquals(120_000, with("read.timeout", "2min").get(RdmaConfig.READ_TIMEOUT_MILLIS));
        assertEquals(250, with("read.timeout", "250").get(RdmaConfig.READ_TIMEOUT_MILLIS));
    }

    @Test
    void a_bad_value_is_refused_with_the_allowed_range() {
        for (String bad : new String[] {"some", "1k", "-5", "99999999999t", ""}) {
            Exception e = assertThrows(IllegalArgumentException.class, () -> with("pinned.maxBytes", bad));
            assertTrue(e.getMessage().contains("allowed: 1m to 1024t"), e.getMessage());
        }
        assertThrows(IllegalArgumentException.class, () -> with("sendQueueDepth", "15"));
        assertThrows(IllegalArgumentException.class, () -> with("mode", "maybe"));
        assertThrows(IllegalArgumentException.class, () -> with("allowCleartext", "yes"));
        assertThrows(IllegalArgumentException.class, () -> with("read.timeout", "11min"));
    }

    @Test
    void an_unknown_setting_is_refused_with_the_known_ones() {
        Exception e = assertThrows(IllegalArgumentException.class, () -> with("pinned.maxByte", "1g"));
        assertTrue(e.getMessage().contains("pinned.maxByte"), e.getMessage());
        assertTrue(e.getMessage().contains("spark.shuffle.rdma.pinned.maxBytes"), e.getMessage());
    }

    @Test
    void settings_of_others_are_none_of_our_business() {
        new RdmaConfig(PREFIX, Map.of("spark.shuffle.manager", "x", "spark.executor.cores", "4"));
    }

    @Property
    void any_text_is_a_value_in_range_or_refused_with_the_name(
            @ForAll @IntRange(max = 100) int index, @ForAll String text) {
        Setting<?> setting = RdmaConfig.table().get(index % RdmaConfig.table().size());
        try {
            with(setting.name(), text);
        } catch (IllegalArgumentException e) {
            assertTrue(e.getMessage().contains(PREFIX + setting.name()), e.getMessage());
        }
    }

    @Test
    void every_default_is_within_its_own_range() {
        RdmaConfig.table().forEach(setting -> setting.parse(PREFIX, setting.defaultText()));
    }
}
