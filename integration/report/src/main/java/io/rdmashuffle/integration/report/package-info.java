/** Turns what was measured into pages that somebody can read who did not run it. */
package io.rdmashuffle.integration.report;
