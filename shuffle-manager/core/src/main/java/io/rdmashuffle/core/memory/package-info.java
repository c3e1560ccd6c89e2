/** Registered memory: sinks that READs land in, the offsets region that READs come from, and the pinned budget. */
package io.rdmashuffle.core.memory;
