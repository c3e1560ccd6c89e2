package org.apache.spark.rdmashuffle

import io.rdmashuffle.integration.SparkOwnSuites
import io.rdmashuffle.spark.RdmaShuffle
import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.adaptive.AdaptiveQueryExecSuite
import org.apache.spark.sql.test.TestSparkSession
import org.scalatest.DoNotDiscover

/** Spark's own suite of adaptive execution with our manager: on two executors instead of in one process, over
  * softverbs, where nothing may go over TCP. Too long for each run of all suites: bin/test matrix names it.
  */
@DoNotDiscover
class AdaptiveQueryExecSuiteOverSoftverbs extends AdaptiveQueryExecSuite {

  override protected def sparkConf: SparkConf =
    SparkOwnSuites.useOurs(super.sparkConf).set("spark.shuffle.rdma.mode", "required")

  override protected def createSparkSession: TestSparkSession = {
    SparkSession.cleanupAnyExistingSession()
    val sc = new SparkContext("local-cluster[2,1,1024]", "adaptive execution", sparkConf)
    SparkInternals.awaitExecutors(sc, 2)
    new TestSparkSession(sc)
  }

  // registered last, so it runs last
  test("what the tests before read from other executors came by RDMA_READ") {
    val seen = RdmaShuffle.report()
    assert(seen.rdmaBytes > 0 && seen.tcpBytes == 0, seen)
  }
}
