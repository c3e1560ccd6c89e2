/** The event loop and the connections of a process, as reader and as owner. */
package io.rdmashuffle.core.connection;
