package io.rdmashuffle.integration

import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.concurrent.Await
import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkContext, SparkEnv, SparkException}
import org.apache.spark.rdmashuffle.SparkInternals
import org.apache.spark.scheduler.{SparkListener, SparkListenerStageSubmitted}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

/** What goes wrong on the way must not change an answer. */
class FaultSuite extends RealCluster with Eventually {

  private def faults(script: String) = "spark.executorEnv.SOFTVERBS_FAULTS" -> script

  private val retrySoon = "spark.shuffle.rdma.quarantine" -> "0ms"

  private def assertFellBack(reasons: String*): Unit = {
    val seen = report()
    assert(seen.tcpBytes > 0, seen)
    assert(reasons.exists(seen.fallbacks.containsKey), seen)
  }

  clusterTest("READs that fail are read again over TCP", retrySoon, faults("read every 3 status=RETRY_EXC_ERR")) { sc =>
    assertSums(sc)
    assertFellBack("READ_FAILED")
  }

  clusterTest(
    "READs that never complete end by their deadline",
    retrySoon,
    faults("read when 3 stall"),
    "spark.shuffle.rdma.read.timeout" -> "500ms"
  ) { sc =>
    assertSums(sc)
    assertFellBack("READ_TIMEOUT")
  }

  clusterTest("a refused connection costs only speed", faults("connect reject")) { sc =>
    assertSums(sc)
    assertFellBack("CONNECT_REJECTED")
  }

  clusterTest("a lost connection costs only speed", retrySoon, faults("read when 2 disconnect")) { sc =>
    assertSums(sc)
    assertFellBack("CONNECTION_LOST", "READ_FAILED")
  }

  clusterTest(
    "map outputs that can be neither registered nor staged are read over TCP",
    faults("reg_mr every 2 errno=ENOMEM"),
    "spark.shuffle.rdma.staging.maxBytes" -> "0"
  ) { sc =>
    assertSums(sc)
    assert(report().tcpBytes > 0)
  }

  /** The driver's directory refuses what the next job's map tasks publish, not what they publish when they are run
    * again.
    */
  private def refuseNextMapOutputs(sc: SparkContext, shuffleId: Int, mapTasks: Int): Unit = {
    SparkInternals.drainListeners(sc) // the directory hears of started tasks from one
    val directory = RealCluster.directory()
    directory.taskStarted(RealCluster.field(directory, "lastTask").asInstanceOf[Long] + mapTasks)
    directory.removeShuffle(shuffleId)
  }

  clusterTest("map outputs that the driver does not confirm are read over TCP") { sc =>
    assertSums(sc)
    assertAllByRdma()
    refuseNextMapOutputs(sc, shuffleId = 1, mapTasks = 6)
    assertSums(sc)
    assertSums(sc) // its tasks report what the job before was told late
    assert(report().fallbacks.keySet.asScala == Set("PUBLISH_FAILED", "NOT_PUBLISHED"), report())
  }

  clusterTest("map outputs that the driver does not confirm are made again when RDMA is required", required) { sc =>
    assertSums(sc)
    refuseNextMapOutputs(sc, shuffleId = 1, mapTasks = 6)
    val before = report().rdmaBytes
    assertSums(sc)
    assert(report().rdmaBytes > before && report().tcpBytes == 0, report())
  }

  clusterTest("a device that dies costs only speed", retrySoon, faults("read when 5 device_fatal")) { sc =>
    assertSums(sc)
    assertFellBack("READ_FAILED", "CONNECTION_LOST", "CONNECT_FAILED")
    assertSums(sc)
  }

  clusterTest("a killed task gives its sinks back, and the next job uses RDMA", required) { sc =>
    sc.setJobGroup("killed", "", interruptOnCancel = true)
    val started = new CountDownLatch(1)
    sc.addSparkListener(new SparkListener {
      override def onStageSubmitted(stage: SparkListenerStageSubmitted): Unit =
        if (stage.stageInfo.parentIds.nonEmpty) started.countDown()
    })
    val killed = pairs(sc, 20000, 50, 6).groupByKey(4).mapPartitions { rows => // it holds what was fetched ahead
      rows.next()
      new CountDownLatch(1).await()
      rows
    }
    val job = killed.countAsync()
    assert(started.await(60, TimeUnit.SECONDS))
    eventually(timeout(60.seconds))(assert(sc.statusTracker.getExecutorInfos.map(_.numRunningTasks()).sum > 0))
    sc.cancelJobGroup("killed")
    intercept[SparkException](Await.result(job, 60.seconds))
    sc.clearJobGroup()
    eventually(timeout(60.seconds), interval(500.millis)) {
      val lent = RealCluster.onExecutors(sc)(() => SparkInternals.gauges("rdmaShuffle").get("sinkLentBytes"))
      assert(lent.values.flatten.forall(_ == 0), lent)
    }
    assertSums(sc)
    assertAllByRdma()
  }

  clusterTest("an executor killed in mid-reduce changes no answer", "spark.task.maxFailures" -> "8") { sc =>
    assertSums(sc)
    assertAllByRdma()
    val marker = Files.createTempDirectory("kill").resolve("killed").toString
    val sum = (0L until 20L).sum
    val grouped = pairs(sc, 2000, 20, 6).groupByKey(8).mapValues(_.sum)
    val sums = grouped
      .mapPartitions { rows =>
        val read = rows.toList
        FaultSuite.killOnce(marker)
        read.iterator
      }
      .collect()
      .toMap
    assert(sums == (0 until 2000).map(_ -> sum).toMap)
    assert(Files.exists(Path.of(marker)), "an executor must have been killed")
    eventually(timeout(60.seconds))(assert(lostExecutors(sc) == 1))
  }

  private def lostExecutors(sc: SparkContext): Int =
    report().executors.keySet.asScala.diff(SparkInternals.executorIds(sc)).size
}

object FaultSuite {

  /** Ends this executor as kill -9 would, once per marker file, when it has read its share. */
  def killOnce(marker: String): Unit =
    if (SparkEnv.get.executorId == "0") {
      try {
        Files.createFile(Path.of(marker))
        Runtime.getRuntime.halt(137)
      } catch {
        case _: java.nio.file.FileAlreadyExistsException => ()
      }
    }
}
