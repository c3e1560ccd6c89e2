package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class MembershipProofTest {

    private static final MembershipProof OURS = new MembershipProof("our secret".getBytes());
    private static final MembershipProof THEIRS = new MembershipProof("their secret".getBytes());
    private static final MembershipProof.Claim CLAIM = new MembershipProof.Claim(11, -22, 3);

    @Test
    void a_proof_fills_what_infiniband_carries() {
        assertEquals(56, OURS.request(CLAIM).length);
        assertEquals(56, OURS.answer(CLAIM).length);
    }

    @Test
    void a_member_is_known_by_its_proof() {
        assertEquals(CLAIM, OURS.verifyRequest(OURS.request(CLAIM)));
        assertTrue(OURS.verifyAnswer(Arrays.copyOf(OURS.answer(CLAIM), 196), CLAIM));
    }

    @Test
    void another_application_is_not_let_in() {
        assertNull(OURS.verifyRequest(THEIRS.request(CLAIM)));
        assertFalse(OURS.verifyAnswer(THEIRS.answer(CLAIM), CLAIM));
    }

    @Test
    void a_request_is_no_answer_and_an_answer_to_another_request_is_none() {
        assertFalse(OURS.verifyAnswer(OURS.request(CLAIM), CLAIM));
        assertNull(OURS.verifyRequest(OURS.answer(CLAIM)));
        assertFalse(OURS.verifyAnswer(OURS.answer(new MembershipProof.Claim(11, -22, 4)), CLAIM));
    }

    @Test
    void too_little_private_data_is_no_proof() {
        assertNull(OURS.verifyRequest(new byte[0]));
        assertNull(OURS.verifyRequest(Arrays.copyOf(OURS.request(CLAIM), 55)));
    }

    @Property
    void any_bytes_are_no_proof(@ForAll byte[] bytes) {
        assertNull(OURS.verifyRequest(bytes));
        assertFalse(OURS.verifyAnswer(bytes, CLAIM));
    }

    @Property(tries = 448)
    void a_proof_with_any_bit_flipped_is_none(@ForAll @IntRange(min = 0, max = 447) int bit) {
        byte[] forged = OURS.request(CLAIM);
        forged[bit / 8] ^= (byte) (1 << bit % 8);
        assertNull(OURS.verifyRequest(forged));
    }
}
