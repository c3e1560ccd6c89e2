/**
 * RDMA verbs for Java: devices, memory regions, reliable connections made by rdma_cm, one-sided READs and small
 * messages.
 *
 * <p>Ownership is a tree whose children are closed first: an endpoint owns its memory regions and connections, a
 * connection owns its queue pair. Every {@code close()} is idempotent; closing an endpoint closes what is left below
 * it. One thread, the <em>loop thread</em>, owns an endpoint's polling and its connections; registering memory and waking
 * the loop are allowed from any thread. Nothing here knows Spark or Hadoop.
 */
package io.rdmashuffle.verbs;
