package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.Snapshot;

/**
 * How one executor takes part.
 *
 * @param rdma whether it has RDMA
 * @param device name of its RDMA device; empty when it has none
 * @param reason why it has no RDMA, one line; empty when it has
 * @param figures what it has reported with its last ended task
 */
public record ExecutorTransport(boolean rdma, String device, String reason, Snapshot figures) {}
