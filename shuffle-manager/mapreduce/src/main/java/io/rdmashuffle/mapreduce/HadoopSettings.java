package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.config.RdmaConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.ApplicationConstants;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Our settings in a Hadoop configuration, and what Hadoop's own settings mean for us. */
final class HadoopSettings {

    static final String PREFIX = "mapreduce.shuffle.rdma.";

    private HadoopSettings() {}

    /**
     * @throws IllegalArgumentException for an unknown {@code mapreduce.shuffle.rdma.*} name or a value out of range
     */
    static RdmaConfig read(Configuration conf) {
        Map<String, String> given = new HashMap<>();
        conf.getPropsWithPrefix(PREFIX).keySet().forEach(name -> given.put(PREFIX + name, conf.get(PREFIX + name)));
        return new RdmaConfig(PREFIX, given);
    }

    /** Whether bytes would cross the network in clear though the job wants its shuffle encrypted. */
    static boolean wantsEncryption(Configuration job, RdmaConfig config) {
        boolean wire = job.getBoolean(MRConfig.SHUFFLE_SSL_ENABLED_KEY, MRConfig.SHUFFLE_SSL_ENABLED_DEFAULT);
        boolean filesAreEncrypted = job.getBoolean(
                MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA, MRJobConfig.DEFAULT_MR_ENCRYPTED_INTERMEDIATE_DATA);
        return wire && !filesAreEncrypted && !config.get(RdmaConfig.ALLOW_CLEARTEXT);
    }

    /** What YARN calls the host of this NodeManager. */
    static String nodeManagerHost(Configuration conf) throws IOException {
        InetSocketAddress address = conf.getSocketAddr(
                YarnConfiguration.NM_BIND_HOST,
                YarnConfiguration.NM_ADDRESS,
                YarnConfiguration.DEFAULT_NM_ADDRESS,
                YarnConfiguration.DEFAULT_NM_PORT);
        boolean wildcard = address.isUnresolved() || address.getAddress().isAnyLocalAddress();
        return wildcard ? InetAddress.getLocalHost().getHostName() : address.getHostString();
    }

    /** What YARN calls the host of this container. */
    static String containerHost() throws IOException {
        String host = System.getenv(ApplicationConstants.Environment.NM_HOST.name());
        return host == null ? InetAddress.getLocalHost().getHostName() : host;
    }
}
