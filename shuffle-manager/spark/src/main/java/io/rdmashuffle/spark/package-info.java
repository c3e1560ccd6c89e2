/** The Spark plugin: a ShuffleManager that keeps Spark's files and iterators and replaces how remote blocks arrive. */
package io.rdmashuffle.spark;
