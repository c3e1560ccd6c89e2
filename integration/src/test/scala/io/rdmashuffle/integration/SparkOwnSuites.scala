package io.rdmashuffle.integration

import io.rdmashuffle.spark.{RdmaShuffle, RdmaShuffleManager}
import org.apache.spark.{ShuffleSuite, SparkConf}

/** Spark's own suite of what a shuffle must do, with our manager: over TCP, since the executors have no device. */
class ShuffleSuiteOverTcp extends ShuffleSuite {

  override def beforeAll(): Unit = {
    super.beforeAll()
    SparkOwnSuites.useOurs(conf).set("spark.executorEnv.SOFTVERBS_DEVICES", "")
  }
}

/** The same over softverbs, where nothing may go over TCP. */
class ShuffleSuiteOverSoftverbs extends ShuffleSuite {

  private var rdmaBytes = 0L
  private var tcpBytes = 0L

  override def beforeAll(): Unit = {
    super.beforeAll()
    SparkOwnSuites.useOurs(conf).set("spark.shuffle.rdma.mode", "required")
  }

  override def afterEach(): Unit = {
    if (sc != null && !sc.isStopped) {
      val seen = RdmaShuffle.report()
      rdmaBytes += seen.rdmaBytes
      tcpBytes += seen.tcpBytes
    }
    super.afterEach()
  }

  // registered last, so it runs last
  test("what the tests before read from other executors came by RDMA_READ") {
    assert(rdmaBytes > 0 && tcpBytes == 0)
  }
}

/** Spark's own suites with our manager. */
object SparkOwnSuites {

  /** Remote blocks must cross the transport: no host-local reads. */
  def useOurs(conf: SparkConf): SparkConf =
    conf
      .set("spark.shuffle.manager", classOf[RdmaShuffleManager].getName)
      .set("spark.shuffle.readHostLocalDisk", "false")
}
