package io.rdmashuffle.core.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.publish.ProbedDirectory.Mode;
import java.util.List;
import org.junit.jupiter.api.Test;

class PathChecksTest {

    private static Finding.Status judged(boolean staging, Mode... modes) {
        return PathChecks.registration("registration", "", List.of(modes), staging)
                .status();
    }

    @Test
    void directories_that_can_only_be_staged_are_usable_and_a_warning() {
        assertEquals(Finding.Status.WARN, judged(true, Mode.STAGED, Mode.STAGED));
        assertEquals(Finding.Status.WARN, judged(true, Mode.NONE, Mode.STAGED));
        assertEquals(Finding.Status.WARN, judged(false, Mode.STAGED, Mode.RO));
    }

    @Test
    void without_staging_they_are_not() {
        assertEquals(Finding.Status.FAIL, judged(false, Mode.STAGED, Mode.NONE));
        assertEquals(Finding.Status.FAIL, judged(true, Mode.NONE));
    }
}
