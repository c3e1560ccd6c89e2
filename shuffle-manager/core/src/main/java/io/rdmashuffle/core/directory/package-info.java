/** The driver's table of published map outputs, its messages, and what executors keep of it. */
package io.rdmashuffle.core.directory;
