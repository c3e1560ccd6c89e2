/** The engine-neutral half of rdma-shuffle: what a process needs to take part. */
package io.rdmashuffle.core;
