package io.rdmashuffle.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.metrics.FallbackReason;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class HadoopSettingsTest {

    @ParameterizedTest
    @CsvSource({
        // TLS, encrypted files, cleartext allowed: encryption is missing
        "false, false, false, false",
        "true, false, false, true",
        "true, true, false, false",
        "true, false, true, false",
        "false, true, false, false"
    })
    void an_encrypted_shuffle_goes_over_rdma_only_in_encrypted_files_or_when_allowed(
            String tls, String files, String cleartext, boolean missing) {
        Configuration conf = new Configuration(false);
        conf.set("mapreduce.shuffle.ssl.enabled", tls);
        conf.set("mapreduce.job.encrypted-intermediate-data", files);
        conf.set("mapreduce.shuffle.rdma.allowCleartext", cleartext);
        assertEquals(missing, HadoopSettings.wantsEncryption(conf, HadoopSettings.read(conf)));
    }

    @Test
    void a_reducer_of_an_encrypted_shuffle_names_its_reason() {
        Configuration conf = new Configuration(false);
        conf.set("mapreduce.shuffle.ssl.enabled", "true");
        try (ReducerSide side = ReducerSide.start(conf, TestNodeManager.secret(1))) {
            assertEquals(FallbackReason.ENCRYPTION, side.whyNot("any host"));
            assertTrue(side.cause().contains("mapreduce.shuffle.rdma.allowCleartext"), side.cause());
        }
    }

    @Test
    void settings_bear_hadoops_names_and_wrong_ones_are_refused() {
        Configuration conf = new Configuration(false);
        conf.set("mapreduce.shuffle.rdma.mode", "required");
        assertEquals(Mode.REQUIRED, HadoopSettings.read(conf).get(RdmaConfig.MODE));
        conf.set("mapreduce.shuffle.rdma.typo", "1");
        IllegalArgumentException e = assertThrows(IllegalArgumentException.class, () -> HadoopSettings.read(conf));
        assertTrue(e.getMessage().contains("mapreduce.shuffle.rdma.typo"), e.getMessage());
    }
}
