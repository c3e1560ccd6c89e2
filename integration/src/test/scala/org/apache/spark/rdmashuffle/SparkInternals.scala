package org.apache.spark.rdmashuffle

import scala.concurrent.Await
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.rdd.RDD
import org.apache.spark.scheduler.ExecutorDecommissionInfo
import org.apache.spark.scheduler.cluster.CoarseGrainedSchedulerBackend
import org.apache.spark.{MapOutputTrackerMaster, ShuffleDependency, SparkContext, SparkEnv, TestUtils}

/** What suites need of Spark that only Spark's own packages may touch. */
object SparkInternals {

  def awaitExecutors(sc: SparkContext, count: Int): Unit = TestUtils.waitUntilExecutorsUp(sc, count, 300000)

  def executorIds(sc: SparkContext): Set[String] =
    sc.env.blockManager.master.getMemoryStatus.keySet.map(_.executorId).toSet

  /** Where an executor serves its blocks. */
  def addressOf(sc: SparkContext, executorId: String): Option[(String, Int)] =
    sc.env.blockManager.master.getMemoryStatus.keys.find(_.executorId == executorId).map(id => (id.host, id.port))

  /** The executors that the shuffle's map outputs are with now. */
  def ownersOf(sc: SparkContext, shuffleId: Int): Set[String] = {
    val statuses = sc.env.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster].shuffleStatuses(shuffleId).mapStatuses
    statuses.filter(_ != null).map(_.location.executorId).toSet
  }

  /** Makes the map outputs that the RDD reads, and reads none. */
  def runMapStage(sc: SparkContext, shuffled: RDD[_]): Unit = {
    val made = sc.submitMapStage(shuffled.dependencies.head.asInstanceOf[ShuffleDependency[_, _, _]])
    Await.ready(made, 2.minutes).value.get.get
  }

  def decommission(sc: SparkContext, executorId: String): Boolean =
    sc.schedulerBackend
      .asInstanceOf[CoarseGrainedSchedulerBackend]
      .decommissionExecutor(executorId, ExecutorDecommissionInfo("test"), adjustTargetNumExecutors = true)

  /** Waits until listeners have heard of all that has happened. */
  def drainListeners(sc: SparkContext): Unit = sc.listenerBus.waitUntilEmpty()

  /** As the context cleaner does when nobody refers to the shuffle any more; waits for the executors. */
  def removeShuffle(sc: SparkContext, shuffleId: Int): Unit = sc.env.blockManager.master.removeShuffle(shuffleId, true)

  /** The same for all shuffles that there are. */
  def removeAllShuffles(sc: SparkContext): Unit =
    sc.env.mapOutputTracker.asInstanceOf[MapOutputTrackerMaster].shuffleStatuses.keys.foreach { id =>
      sc.env.mapOutputTracker.unregisterShuffle(id)
      removeShuffle(sc, id)
    }

  /** The long-valued gauges of a source of this process's metric system, by name. */
  def gauges(source: String): Map[String, Long] =
    SparkEnv.get.metricsSystem
      .getSourcesByName(source)
      .flatMap(_.metricRegistry.getGauges().asScala)
      .collect { case (name, gauge) if gauge.getValue.isInstanceOf[Long] => name -> gauge.getValue.asInstanceOf[Long] }
      .toMap
}
