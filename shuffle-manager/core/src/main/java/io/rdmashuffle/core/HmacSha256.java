package io.rdmashuffle.core;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** HMAC-SHA256 (RFC 2104) with one key. Any thread. */
public final class HmacSha256 {

    private static final String NAME = "HmacSHA256";

    private final SecretKeySpec key;

    /** @param key copied; not empty */
    public HmacSha256(byte[] key) {
        this.key = new SecretKeySpec(key, NAME);
    }

    /** The 32 bytes for these parts, one after the other. */
    public byte[] of(ByteBuffer... parts) {
        try {
            Mac mac = Mac.getInstance(NAME);
            mac.init(key);
            for (ByteBuffer part : parts) {
                mac.update(part);
            }
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has HmacSHA256", e);
        }
    }
}
