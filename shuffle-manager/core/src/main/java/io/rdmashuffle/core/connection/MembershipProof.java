package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.HmacSha256;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.Arrays;

/**
 * What two processes show each other, in the private data of the connection manager, to prove that they belong to the same
 * application: an HMAC-SHA256, keyed with the application's secret, over their role, identities and a sequence number. 56 bytes,
 * which is all that InfiniBand and RoCE carry in a connect request. Layout in docs/wire-format.md. Any thread.
 */
final class MembershipProof {

    static final int BYTES = 56;

    private static final int MAGIC_VALUE = 0x52534846; // "RSHF"
    private static final short VERSION = 1;
    private static final short REQUEST = 1;
    private static final short ANSWER = 2;

    private static final int MAGIC = 0;
    private static final int VERSION_AT = MAGIC + Integer.BYTES;
    private static final int ROLE = VERSION_AT + Short.BYTES;
    private static final int READER = ROLE + Short.BYTES;
    private static final int OWNER = READER + Long.BYTES;
    private static final int SEQUENCE = OWNER + Long.BYTES;
    private static final int MAC = SEQUENCE + Long.BYTES;

    /** What a request claims, once its HMAC was found right. */
    record Claim(long readerIncarnation, long ownerIncarnation, long sequence) {}

    private final HmacSha256 hmac;

    /** Makes one proof at once: the first takes Java long, and the event loop has no time for it. */
    MembershipProof(byte[] secret) {
        hmac = new HmacSha256(secret);
        hmac.of(ByteBuffer.allocate(MAC));
    }

    byte[] request(Claim claim) {
        return encode(REQUEST, claim);
    }

    byte[] answer(Claim claim) {
        return encode(ANSWER, claim);
    }

    /** The claim of a request, or null when it was not made with the application's secret. */
    Claim verifyRequest(byte[] privateData) {
        if (privateData.length < BYTES) {
            return null;
        }
        ByteBuffer buffer = ByteBuffer.wrap(privateData).order(ByteOrder.BIG_ENDIAN);
        Claim claim = new Claim(buffer.getLong(READER), buffer.getLong(OWNER), buffer.getLong(SEQUENCE));
        return same(privateData, request(claim)) ? claim : null;
    }

    /** Whether this answers our request, made with the application's secret. */
    boolean verifyAnswer(byte[] privateData, Claim asked) {
        return privateData.length >= BYTES && same(privateData, answer(asked));
    }

    private byte[] encode(short role, Claim claim) {
        ByteBuffer buffer = ByteBuffer.allocate(BYTES).order(ByteOrder.BIG_ENDIAN);
        buffer.putInt(MAGIC, MAGIC_VALUE);
        buffer.putShort(VERSION_AT, VERSION);
        buffer.putShort(ROLE, role);
        buffer.putLong(READER, claim.readerIncarnation);
        buffer.putLong(OWNER, claim.ownerIncarnation);
        buffer.putLong(SEQUENCE, claim.sequence);
        buffer.put(MAC, hmac.of(ByteBuffer.wrap(buffer.array(), 0, MAC)), 0, BYTES - MAC);
        return buffer.array();
    }

    /** In constant time; private data arrives zero-padded, so only the first bytes count. */
    private static boolean same(byte[] privateData, byte[] expected) {
        return MessageDigest.isEqual(Arrays.copyOf(privateData, BYTES), expected);
    }
}
