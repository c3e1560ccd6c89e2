package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.apache.spark.SparkConf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SparkSettingsTest {

    /** The table of docs/security.md, with every way to ask for encryption. */
    @ParameterizedTest
    @CsvSource({
        // authenticate, crypto, sasl, ssl.rpc, io.encryption, allowCleartext, stays on TCP
        "false, false, false, false, false, false, false",
        "true,  false, false, false, false, false, false",
        "true,  false, false, false, true,  false, false",
        "true,  false, false, false, false, true,  false",
        "true,  true,  false, false, false, false, true",
        "true,  true,  false, false, true,  false, false",
        "true,  true,  false, false, false, true,  false",
        "true,  true,  false, false, true,  true,  false",
        "true,  false, true,  false, false, false, true",
        "true,  false, true,  false, true,  false, false",
        "true,  false, true,  false, false, true,  false",
        "false, false, false, true,  false, false, true",
        "true,  false, false, true,  false, false, true",
        "true,  false, false, true,  true,  false, false",
        "true,  false, false, true,  false, true,  false",
        "true,  true,  true,  true,  false, false, true",
        "true,  true,  true,  true,  true,  false, false",
        "true,  true,  true,  true,  false, true,  false",
        // without authentication Spark does not encrypt, but the user has asked for it
        "false, true,  false, false, false, false, true",
        "false, false, true,  false, false, false, true",
    })
    void bytes_that_are_to_be_encrypted_cross_the_wire_in_clear_only_when_that_is_allowed(
            boolean authenticate,
            boolean crypto,
            boolean sasl,
            boolean ssl,
            boolean files,
            boolean allowCleartext,
            boolean staysOnTcp) {
        SparkConf conf = new SparkConf(false)
                .set("spark.authenticate", Boolean.toString(authenticate))
                .set("spark.network.crypto.enabled", Boolean.toString(crypto))
                .set("spark.authenticate.enableSaslEncryption", Boolean.toString(sasl))
                .set("spark.ssl.rpc.enabled", Boolean.toString(ssl))
                .set("spark.io.encryption.enabled", Boolean.toString(files))
                .set("spark.shuffle.rdma.allowCleartext", Boolean.toString(allowCleartext));
        assertEquals(staysOnTcp, SparkSettings.wantsEncryption(conf, SparkSettings.read(conf)));
    }
}
