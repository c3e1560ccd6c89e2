package org.apache.spark.rdmashuffle

import org.apache.spark.storage.BlockManagerDecommissionIntegrationSuite
import org.scalatest.DoNotDiscover

/** Spark's own suite of executors that hand their blocks on, with our manager and TCP allowed: the new owner of a map
  * output does not publish it.
  */
@DoNotDiscover
class BlockManagerDecommissionIntegrationSuiteWithTcpAllowed extends BlockManagerDecommissionIntegrationSuite {

  override def beforeEach(): Unit = {
    super.beforeEach()
    System.setProperty("spark.shuffle.rdma.mode", "auto")
  }
}
