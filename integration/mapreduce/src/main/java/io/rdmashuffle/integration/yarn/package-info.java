/** Spark jobs for a YARN cluster. They run in processes of their own, whose Hadoop is Spark's. */
package io.rdmashuffle.integration.yarn;
