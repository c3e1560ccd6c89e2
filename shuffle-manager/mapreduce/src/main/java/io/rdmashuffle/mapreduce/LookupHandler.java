package io.rdmashuffle.mapreduce;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URL;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.IntSupplier;
import javax.crypto.SecretKey;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers lookups on the shuffle port and lets every other request pass to the stock handler behind it. The question carries the
 * stock proof that the asker knows the job's shuffle secret; the answer carries one over question and answer.
 */
@ChannelHandler.Sharable
final class LookupHandler extends SimpleChannelInboundHandler<FullHttpRequest> {

    private static final Logger LOG = LoggerFactory.getLogger(LookupHandler.class);

    private final NodeManagerSide side;
    private final IntSupplier shufflePort;

    /** @param shufflePort known once the port is bound */
    LookupHandler(NodeManagerSide side, IntSupplier shufflePort) {
        this.side = side;
        this.shufflePort = shufflePort;
    }

    @Override
    public boolean acceptInboundMessage(Object message) {
        return message instanceof FullHttpRequest request
                && request.uri().startsWith(LookupRequest.PATH + "?")
                && request.method() == HttpMethod.GET;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest http) {
        try {
            LookupRequest request = LookupRequest.parse(http.uri());
            String urlHash = http.headers().get(SecureShuffleUtils.HTTP_HEADER_URL_HASH);
            SecretKey secret = authenticate(request, http.uri(), urlHash);
            // registering may take long, and this thread serves others
            side.execute(() -> answer(context, request, urlHash, secret));
        } catch (IllegalArgumentException e) {
            refuse(context, HttpResponseStatus.BAD_REQUEST, e.getMessage());
        } catch (IOException e) {
            refuse(context, HttpResponseStatus.UNAUTHORIZED, e.getMessage());
        } catch (RejectedExecutionException e) {
            send(context, HttpResponseStatus.SERVICE_UNAVAILABLE, new byte[0], null);
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.fireExceptionCaught(cause); // the stock handler knows what to do
    }

    /** What a reply proves itself with. */
    static byte[] replyMessage(String urlHash, byte[] body) {
        ByteArrayOutputStream message = new ByteArrayOutputStream();
        message.writeBytes(urlHash.getBytes(UTF_8));
        message.writeBytes(body);
        return message.toByteArray();
    }

    private SecretKey authenticate(LookupRequest request, String uri, String urlHash) throws IOException {
        if (urlHash == null) {
            throw new IOException("no proof of membership");
        }
        SecretKey secret = side.secretOf(request.job());
        String message = SecureShuffleUtils.buildMsgFrom(new URL("http", "", shufflePort.getAsInt(), uri));
        SecureShuffleUtils.verifyReply(urlHash, message, secret);
        return secret;
    }

    private void answer(ChannelHandlerContext context, LookupRequest request, String urlHash, SecretKey secret) {
        try {
            byte[] body = side.lookup(request).encode();
            String replyHash = SecureShuffleUtils.generateHash(replyMessage(urlHash, body), secret);
            send(context, HttpResponseStatus.OK, body, replyHash);
        } catch (RuntimeException | Error e) {
            LOG.error("RDMA shuffle: a lookup failed by a defect; its map outputs are served over HTTP", e);
            send(context, HttpResponseStatus.INTERNAL_SERVER_ERROR, new byte[0], null);
        }
    }

    private void refuse(ChannelHandlerContext context, HttpResponseStatus status, String why) {
        side.countRefusal();
        LOG.warn("RDMA shuffle: refused a lookup from {}: {}", context.channel().remoteAddress(), why);
        send(context, status, new byte[0], null);
    }

    private static void send(ChannelHandlerContext context, HttpResponseStatus status, byte[] body, String replyHash) {
        FullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
        response.headers().set(HttpHeaderNames.CONTENT_LENGTH, body.length);
        response.headers().set(HttpHeaderNames.CONNECTION, "close");
        if (replyHash != null) {
            response.headers().set(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH, replyHash);
        }
        context.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
    }
}
