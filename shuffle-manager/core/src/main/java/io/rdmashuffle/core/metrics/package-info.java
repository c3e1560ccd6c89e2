/** Counters and the closed list of fallback reasons. */
package io.rdmashuffle.core.metrics;
