package io.rdmashuffle.integration;

import java.util.Map;

/** How the shuffle blocks of a running application travelled, from its start until now. */
interface ShuffleAccount {
    /** Blocks read from other executors so far; exact between queries. */
    RunSummary.Traffic total();

    /** What each executor can use, by executor id; empty where RDMA is no question. */
    Map<String, RunSummary.Transport> executors();
}
