package io.rdmashuffle.integration

import io.rdmashuffle.spark.RdmaShuffleManager
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

  override def beforeAll(): Unit = {
    super.beforeAll()
    SparkOwnSuites.useOurs(conf).set("spark.shuffle.rdma.mode", "required")
  }
}

private object SparkOwnSuites {

  /** Remote blocks must cross the transport: no host-local reads. */
  def useOurs(conf: SparkConf): SparkConf =
    conf
      .set("spark.shuffle.manager", classOf[RdmaShuffleManager].getName)
      .set("spark.shuffle.readHostLocalDisk", "false")
}
