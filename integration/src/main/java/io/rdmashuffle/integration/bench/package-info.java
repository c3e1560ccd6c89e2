/** The benchmark kit: what {@code bin/rdma-shuffle bench} runs. */
package io.rdmashuffle.integration.bench;
