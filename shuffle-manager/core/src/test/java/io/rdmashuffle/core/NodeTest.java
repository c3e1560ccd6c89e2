package io.rdmashuffle.core;

import io.rdmashuffle.core.metrics.Counters;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** Nodes of one application for each test, without faults at first. */
abstract class NodeTest {

    static final String OWNER = "1";
    static final String READER = "2";

    @TempDir
    Path folder;

    final Counters ownerCounters = new Counters();
    final Counters readerCounters = new Counters();
    TestNodes nodes;

    @BeforeEach
    void openNodes() throws Exception {
        TestNodes.clearFaults();
        nodes = new TestNodes(folder);
    }

    @AfterEach
    void closeNodes() throws Exception {
        nodes.close();
    }
}
