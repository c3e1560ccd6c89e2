/** Settings: declared once, checked when read, documented from the declaration. */
package io.rdmashuffle.core.config;
