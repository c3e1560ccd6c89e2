package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The JVM has nothing to say against how the C half uses JNI; {@link ChildJvm} looks for its complaints. */
@Timeout(300)
class CheckedJniTest {
    @Test
    void no_native_method_misuses_jni() throws Exception {
        try (ChildJvm child = ChildJvm.start(
                TestMain.class,
                EndpointTest.class.getName(),
                ConnectionTest.class.getName(),
                ReadTest.class.getName(),
                MessageTest.class.getName(),
                MemoryTest.class.getName())) {
            String output = child.outputToEnd();
            assertTrue(output.contains(", failed: 0"), output);
            assertFalse(output.contains("succeeded: 0"), output);
        }
    }
}
