package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class VocabularyTest {
    @Test
    void every_failed_completion_damages_more_than_its_request() {
        for (WcStatus status : WcStatus.values()) {
            if (status == WcStatus.SUCCESS) {
                assertNull(status.scope());
            } else {
                assertNotNull(status.scope(), status.name());
                assertTrue(status.scope() != FailureScope.REQUEST, status.name());
            }
        }
    }

    @Test
    void codes_are_those_of_the_verbs() {
        assertEquals(WcStatus.WR_FLUSH_ERR, WcStatus.of(5));
        assertEquals(WcStatus.REM_ACCESS_ERR, WcStatus.of(10));
        assertEquals(WcStatus.RETRY_EXC_ERR, WcStatus.of(12));
        assertEquals(CmEventType.DISCONNECTED, CmEventType.of(10));
        assertEquals(AsyncEventType.DEVICE_FATAL, AsyncEventType.of(8));
    }

    @Test
    void codes_of_newer_libraries_are_harmless() {
        assertEquals(WcStatus.GENERAL_ERR, WcStatus.of(99));
        assertEquals(WcStatus.GENERAL_ERR, WcStatus.of(-1));
        assertEquals(CmEventType.UNKNOWN, CmEventType.of(16));
        assertEquals(CmEventType.UNKNOWN, CmEventType.of(-1));
        assertEquals(AsyncEventType.UNKNOWN, AsyncEventType.of(20));
        assertNull(AsyncEventType.UNKNOWN.scope());
    }

    @Test
    void a_refused_registration_names_the_memory_limit_and_how_to_raise_it() {
        for (int errno : new int[] {VerbsException.EPERM, VerbsException.ENOMEM}) {
            VerbsException failure = new VerbsException("ibv_reg_mr", errno);
            assertTrue(failure.getMessage().startsWith("ibv_reg_mr: "), failure.getMessage());
            assertTrue(failure.getMessage().contains("(errno " + errno + ")"), failure.getMessage());
            assertTrue(failure.getMessage().contains("RLIMIT_MEMLOCK is "), failure.getMessage());
            assertTrue(failure.getMessage().contains("limits.d"), failure.getMessage());
            assertEquals(errno, failure.errno());
            assertEquals("ibv_reg_mr", failure.step());
        }
    }

    @Test
    void a_mapping_that_cannot_be_pinned_says_how_to_map_instead() {
        String message = new VerbsException("ibv_reg_mr", VerbsException.EFAULT).getMessage();
        assertTrue(message.contains("READ_WRITE"), message);
    }

    @Test
    void other_failures_give_the_text_of_the_errno_alone() {
        String message = new VerbsException("rdma_listen", 98).getMessage();
        assertEquals("rdma_listen: Address already in use (errno 98)", message);
        assertFalse(message.contains("RLIMIT"), message);
    }
}
