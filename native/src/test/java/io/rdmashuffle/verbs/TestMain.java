package io.rdmashuffle.verbs;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder.request;

import java.io.PrintWriter;
import java.util.Arrays;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs test classes in a JVM whose output somebody else looks through. */
final class TestMain {
    private TestMain() {}

    /** @param args names of test classes */
    public static void main(String[] args) {
        SummaryGeneratingListener listener = new SummaryGeneratingListener();
        var classes = Arrays.stream(args).map(name -> selectClass(name)).toList();
        LauncherFactory.create().execute(request().selectors(classes).build(), listener);
        listener.getSummary().printFailuresTo(new PrintWriter(System.out, true));
        System.out.println("succeeded: " + listener.getSummary().getTestsSucceededCount() + ", failed: "
                + listener.getSummary().getTotalFailureCount());
    }
}
