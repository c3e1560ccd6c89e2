package io.rdmashuffle.spark;

import io.rdmashuffle.core.config.RdmaConfig;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import scala.Tuple2;

/** Our settings in a SparkConf, and what Spark's own settings mean for us. */
final class SparkSettings {

    static final String PREFIX = "spark.shuffle.rdma.";

    private SparkSettings() {}

    /**
     * @throws IllegalArgumentException for an unknown {@code spark.shuffle.rdma.*} name or a value out of range
     */
    static RdmaConfig read(SparkConf conf) {
        Map<String, String> given = new HashMap<>();
        for (Tuple2<String, String> setting : conf.getAllWithPrefix(PREFIX)) {
            given.put(PREFIX + setting._1(), setting._2());
        }
        return new RdmaConfig(PREFIX, given);
    }

    /** Whether bytes would cross the network in clear though the user wants them encrypted. */
    static boolean wantsEncryption(SparkConf conf, RdmaConfig config) {
        boolean wire = conf.getBoolean("spark.network.crypto.enabled", false)
                || conf.getBoolean("spark.authenticate.enableSaslEncryption", false)
                || conf.getBoolean("spark.ssl.rpc.enabled", false);
        boolean filesAreEncrypted = conf.getBoolean("spark.io.encryption.enabled", false);
        return wire && !filesAreEncrypted && !config.get(RdmaConfig.ALLOW_CLEARTEXT);
    }

    /** What the application's processes authenticate with; empty without {@code spark.authenticate}. */
    static byte[] secret(SparkEnv env) {
        String secret = env.securityManager().getSecretKey();
        return secret == null ? new byte[0] : secret.getBytes(StandardCharsets.UTF_8);
    }

    /** Spark's settings of the shuffle's transport, as SparkTransportConf gives them, whose parameters differ between versions. */
    static TransportConf transport(SparkConf conf) {
        Map<String, String> all = new HashMap<>();
        for (Tuple2<String, String> setting : conf.getAll()) {
            all.put(setting._1(), setting._2());
        }
        return new TransportConf("shuffle", new MapConfigProvider(all));
    }

    /** With the old fetch protocol a map id names a partition, not an attempt, so that entries would not be unique. */
    static boolean usesOldFetchProtocol(SparkConf conf) {
        return conf.getBoolean("spark.shuffle.useOldFetchProtocol", false);
    }
}
