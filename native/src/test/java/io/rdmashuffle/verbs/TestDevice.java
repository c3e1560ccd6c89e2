package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.UnknownHostException;

/** The device tests run on: softverbs, or a real one behind the address in {@value #ADDRESS_VARIABLE}. */
final class TestDevice {
    static final String ADDRESS_VARIABLE = "RDMA_SHUFFLE_TEST_ADDRESS";

    private TestDevice() {}

    static boolean isReal() {
        return System.getenv(ADDRESS_VARIABLE) != null;
    }

    /** A device must be there: a run without any would prove nothing. */
    static void require() {
        assertTrue(Rdma.isAvailable(), Rdma::unavailabilityCause);
    }

    static void requireSoftverbs(String why) {
        assumeTrue(!isReal(), "needs softverbs: " + why);
    }

    static InetAddress address() {
        try {
            return InetAddress.getByName(isReal() ? System.getenv(ADDRESS_VARIABLE) : "127.0.0.1");
        } catch (UnknownHostException e) {
            throw new AssertionError(e);
        }
    }
}
