package org.apache.spark.rdmashuffle

import org.apache.spark.{SparkContext, TestUtils}

/** What suites need of Spark that only Spark's own packages may touch. */
object SparkInternals {

  def awaitExecutors(sc: SparkContext, count: Int): Unit = TestUtils.waitUntilExecutorsUp(sc, count, 300000)

  def executorIds(sc: SparkContext): Set[String] =
    sc.env.blockManager.master.getMemoryStatus.keySet.map(_.executorId).toSet

  /** As the context cleaner does when nobody refers to the shuffle any more; waits for the executors. */
  def removeShuffle(sc: SparkContext, shuffleId: Int): Unit = sc.env.blockManager.master.removeShuffle(shuffleId, true)

  def awaitListeners(sc: SparkContext): Unit = sc.listenerBus.waitUntilEmpty()
}
