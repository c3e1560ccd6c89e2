package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.HmacSha256;
import io.rdmashuffle.core.connection.Owner;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.List;

/**
 * How two doctors meet over TCP before they try RDMA. Both prove by HMAC-SHA256 over fresh nonces that they have the secret; then
 * the serving one tells what may be read. Big-endian:
 *
 * <pre>
 * server: magic 4, version 2, nonce 32      client: nonce 32, HMAC("client", both nonces) 32
 * server: length 4 (0: refused), block, HMAC("server", both nonces, block) 32
 * </pre>
 */
final class PeerHandshake {

    private static final int MAGIC = 0x52534450; // "RSDP"
    private static final short VERSION = 1;
    private static final int NONCE_BYTES = 32;
    private static final int MAC_BYTES = 32;
    private static final int MAX_BLOCK_BYTES = 16 << 10;
    private static final int TIMEOUT_MILLIS = 10_000;

    private final HmacSha256 hmac;

    /** The other side has no or another secret, or is no doctor. */
    static final class NotAuthenticatedException extends IOException {
        private static final long serialVersionUID = 1L;

        NotAuthenticatedException(String message) {
            super(message);
        }
    }

    PeerHandshake(byte[] secret) {
        hmac = new HmacSha256(secret);
    }

    /** Serving side: tells the target to a client that has the secret. */
    void serve(Socket socket, ReadProbe.Target target) throws IOException {
        socket.setSoTimeout(TIMEOUT_MILLIS);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        byte[] ownNonce = nonce();
        out.writeInt(MAGIC);
        out.writeShort(VERSION);
        out.write(ownNonce);
        out.flush();
        byte[] nonce = in.readNBytes(NONCE_BYTES);
        byte[] proof = in.readNBytes(MAC_BYTES);
        if (!MessageDigest.isEqual(proof, mac("client", ownNonce, nonce, new byte[0]))) {
            out.writeInt(0);
            out.flush();
            throw new NotAuthenticatedException("it does not have our secret");
        }
        byte[] block = encode(target);
        out.writeInt(block.length);
        out.write(block);
        out.write(mac("server", ownNonce, nonce, block));
        out.flush();
    }

    /** Reading side: learns the target. */
    ReadProbe.Target ask(Socket socket) throws IOException {
        socket.setSoTimeout(TIMEOUT_MILLIS);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        if (in.readInt() != MAGIC) {
            throw new NotAuthenticatedException("it is not 'rdma-shuffle doctor --serve'");
        }
        short version = in.readShort();
        if (version != VERSION) {
            throw new NotAuthenticatedException("it speaks version " + version + ", this doctor " + VERSION);
        }
        byte[] nonce = in.readNBytes(NONCE_BYTES);
        byte[] ownNonce = nonce();
        out.write(ownNonce);
        out.write(mac("client", nonce, ownNonce, new byte[0]));
        out.flush();
        int length = in.readInt();
        if (length < 1 || length > MAX_BLOCK_BYTES) {
            throw new NotAuthenticatedException("it refused our secret");
        }
        byte[] block = in.readNBytes(length);
        byte[] proof = in.readNBytes(MAC_BYTES);
        if (!MessageDigest.isEqual(proof, mac("server", nonce, ownNonce, block))) {
            throw new NotAuthenticatedException("it does not have our secret");
        }
        return decode(block);
    }

    private byte[] mac(String role, byte[] serverNonce, byte[] clientNonce, byte[] block) {
        return hmac.of(
                StandardCharsets.US_ASCII.encode(role),
                ByteBuffer.wrap(serverNonce),
                ByteBuffer.wrap(clientNonce),
                ByteBuffer.wrap(block));
    }

    private static byte[] nonce() {
        byte[] nonce = new byte[NONCE_BYTES];
        new SecureRandom().nextBytes(nonce);
        return nonce;
    }

    private static byte[] encode(ReadProbe.Target target) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        InetSocketAddress address = target.owner().addresses().get(0);
        byte[] ip = address.getAddress().getAddress();
        out.writeUTF(target.owner().executorId());
        out.writeLong(target.owner().incarnation());
        out.writeByte(ip.length);
        out.write(ip);
        out.writeInt(address.getPort());
        out.writeLong(target.address());
        out.writeInt(target.rkey());
        out.write(target.content());
        return bytes.toByteArray();
    }

    private static ReadProbe.Target decode(byte[] block) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(block));
        String name = in.readUTF();
        long incarnation = in.readLong();
        InetAddress ip = InetAddress.getByAddress(in.readNBytes(in.readByte()));
        Owner owner = new Owner(name, incarnation, List.of(new InetSocketAddress(ip, in.readInt())));
        return new ReadProbe.Target(owner, in.readLong(), in.readInt(), in.readNBytes(ReadProbe.BYTES));
    }
}
