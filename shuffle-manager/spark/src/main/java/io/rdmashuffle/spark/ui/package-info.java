/** The tab "RDMA Shuffle" of Spark's web UI, live and in the history server. */
package io.rdmashuffle.spark.ui;
