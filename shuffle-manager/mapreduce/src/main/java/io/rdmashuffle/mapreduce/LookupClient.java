package io.rdmashuffle.mapreduce;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.security.MessageDigest;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleHeader;

/** The asking side of a lookup: proves that it belongs to the job, and wants the same proof of the answer. Any thread. */
final class LookupClient {

    private final SecretKey secret;
    private final int timeoutMillis;

    LookupClient(SecretKey secret, int timeoutMillis) {
        this.secret = secret;
        this.timeoutMillis = timeoutMillis;
    }

    /**
     * @param connection opened to the request's URL, not yet connected
     * @param maps how many map outputs are asked for
     * @throws SegmentReads.ReadException when there is no answer to rely on
     */
    LookupReply ask(HttpURLConnection connection, int maps) throws SegmentReads.ReadException {
        try {
            URL url = connection.getURL();
            String urlHash = SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), secret);
            connection.setConnectTimeout(timeoutMillis);
            connection.setReadTimeout(timeoutMillis);
            connection.setRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, urlHash);
            // a stock handler wants these before it says that it does not understand
            connection.setRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
            connection.setRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
            int status = connection.getResponseCode();
            if (status == HttpURLConnection.HTTP_BAD_REQUEST) {
                throw new SegmentReads.ReadException(
                        FallbackReason.NOT_PUBLISHED, "the NodeManager's shuffle handler does not know RDMA");
            }
            if (status != HttpURLConnection.HTTP_OK) {
                throw new IOException("HTTP status " + status);
            }
            return LookupReply.decode(body(connection, urlHash), maps);
        } catch (SegmentReads.ReadException e) {
            throw e;
        } catch (IOException e) {
            throw new SegmentReads.ReadException(FallbackReason.DIRECTORY_UNREACHABLE, String.valueOf(e.getMessage()));
        }
    }

    private byte[] body(HttpURLConnection connection, String urlHash) throws IOException {
        byte[] body;
        try (InputStream in = connection.getInputStream()) {
            body = in.readNBytes(LookupReply.MAX_BYTES + 1);
        }
        String replyHash = connection.getHeaderField(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH);
        String expected = SecureShuffleUtils.generateHash(LookupHandler.replyMessage(urlHash, body), secret);
        if (replyHash == null || !MessageDigest.isEqual(replyHash.getBytes(UTF_8), expected.getBytes(UTF_8))) {
            throw new IOException("an answer without proof of membership");
        }
        return body;
    }
}
