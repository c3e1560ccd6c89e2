package io.rdmashuffle.core.connection;

import java.util.HexFormat;

/** Proofs as a member makes them, in hex: for tests that play one, or a thief. */
public final class Proofs {

    private Proofs() {}

    /** What a reader sends to an owner. */
    public static String request(byte[] secret, long reader, long owner, long sequence) {
        return hex(new MembershipProof(secret).request(new MembershipProof.Claim(reader, owner, sequence)));
    }

    /** What the owner answers. */
    public static String answer(byte[] secret, long reader, long owner, long sequence) {
        return hex(new MembershipProof(secret).answer(new MembershipProof.Claim(reader, owner, sequence)));
    }

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
