/** A YARN cluster of one machine and the jobs that suites and demo run on it. */
package io.rdmashuffle.integration.mapreduce;
