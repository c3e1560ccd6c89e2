package io.rdmashuffle.spark;

/**
 * How one executor takes part.
 *
 * @param rdma whether it has RDMA
 * @param device name of its RDMA device; empty when it has none
 * @param reason why it has no RDMA, one line; empty when it has
 */
public record ExecutorTransport(boolean rdma, String device, String reason) {}
