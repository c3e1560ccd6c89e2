package io.rdmashuffle.core.config;

/** Who decides between RDMA and TCP. */
public enum Mode {
    /** RDMA where both ends can, TCP where they cannot. */
    AUTO,
    /** TCP only; the native library is never loaded. */
    OFF,
    /** RDMA or failure: any fallback fails the task with its reason. For tests and benchmarks. */
    REQUIRED
}
