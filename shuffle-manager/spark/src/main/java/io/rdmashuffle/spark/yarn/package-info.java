/**
 * Spark's shuffle service in the NodeManager, which also serves map outputs over RDMA, and what executors say to it. The NodeManager
 * has neither spark-core nor Scala: nothing here uses more of Spark than its network libraries.
 */
package io.rdmashuffle.spark.yarn;
