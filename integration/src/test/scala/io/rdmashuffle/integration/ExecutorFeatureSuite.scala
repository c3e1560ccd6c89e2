package io.rdmashuffle.integration

import java.net.ServerSocket
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import org.apache.spark.{HashPartitioner, SparkContext, SparkEnv, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.rdmashuffle.SparkInternals
import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

/** Executors that are slow, lost, replaced or on their way out. */
class ExecutorFeatureSuite extends FeatureSuite with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(90.seconds, 200.millis)

  shuffleTest("an executor that dies under its readers: the map stage runs again", required) { (sc, squares) =>
    val failures = new FetchFailures(sc)
    val pid = ExecutorFeatureSuite.pidOf(sc, "0")
    squares.assertRows()
    assertAllByRdma() // what an executor read that is then killed, it can no longer report
    // each of the two tasks reads three partitions: after the first, one ends its executor and the other waits for that
    squares.assertRows(squares.rdd.mapPartitions(_ ++ ExecutorFeatureSuite.meetDeathOf(pid)).coalesce(2))
    assert(failures.messages.nonEmpty)
    assert(report().tcpBytes == 0, report())
  }

  shuffleTest("a shuffle whose files were removed is made again and read over RDMA", required) { (sc, squares) =>
    squares.assertRows()
    SparkInternals.removeShuffle(
      sc,
      squares.id
    ) // as Spark's SQL does between two runs of a plan, which then shuffles anew
    assert(report().publishedOutputs == 0)
    val before = report().rdmaBytes
    squares.assertRows()
    assert(report().publishedOutputs > 0 && report().rdmaBytes > before && report().tcpBytes == 0, report())
  }

  test("an executor replaced on the same host and port is not taken for the one before") {
    failAfter(3.minutes) {
      val port = "spark.blockManager.port" -> ExecutorFeatureSuite.freePort().toString
      withShuffled(required, port, "spark.driver.blockManager.port" -> "0") { (sc, squares) =>
        squares.assertRows()
        val address = SparkInternals.addressOf(sc, "0")
        ProcessHandle.of(ExecutorFeatureSuite.pidOf(sc, "0")).get.destroyForcibly()
        eventually(assert(SparkInternals.addressOf(sc, "2") == address))
        squares.assertRows()
        squares.assertRows()
        assume(SparkInternals.ownersOf(sc, squares.id) == Set("1", "2"), "Spark gave the new executor no map task")
        assertAllByRdma()
      }
    }
  }

  shuffleTest(
    "map outputs that a decommissioned executor handed on are read over RDMA where they are now",
    required +: ExecutorFeatureSuite.decommissioning: _*
  ) { (sc, squares) =>
    SparkInternals.awaitExecutors(sc, 3)
    squares.assertRows()
    assert(SparkInternals.ownersOf(sc, squares.id) == Set("0", "1", "2"))
    val published = report().publishedOutputs
    assert(SparkInternals.decommission(sc, "0"))
    eventually(assert(SparkInternals.executorIds(sc) == Set("driver", "1", "2")))
    assert(SparkInternals.ownersOf(sc, squares.id) == Set("1", "2"))
    assert(report().publishedOutputs == published)
    val before = report().rdmaBytes
    squares.assertRows()
    assert(report().rdmaBytes > before)
    assertAllByRdma()
  }

  test("an executor that never shuffled publishes a map output that is handed on to it") {
    def onePart(sc: SparkContext) = ExecutorFeatureSuite.squares(sc.parallelize(0 until 2000, 1))
    val expected = FeatureSuite.bySortShuffle(spark => FeatureSuite.rows(onePart(spark.sparkContext)))
    failAfter(3.minutes) {
      // both executors that are left get reduce tasks, not only the one that has the blocks
      val spread = "spark.shuffle.reduceLocality.enabled" -> "false"
      withCluster(required +: spread +: ExecutorFeatureSuite.decommissioning: _*) { sc =>
        SparkInternals.awaitExecutors(sc, 3)
        val squares = new Shuffled(onePart(sc), expected)
        SparkInternals.runMapStage(sc, squares.rdd)
        val writer = SparkInternals.ownersOf(sc, squares.id)
        assert(SparkInternals.decommission(sc, writer.head))
        eventually(assert(SparkInternals.executorIds(sc) == Set("driver", "0", "1", "2") -- writer))
        squares.assertRows()
        assert(SparkInternals.ownersOf(sc, squares.id).intersect(writer).isEmpty)
        assertAllByRdma()
      }
    }
  }

  test("of a map task that ran twice, on two hosts at once, one output is read") {
    val attempts = Files.createTempDirectory("attempts").toString
    def duplicated(sc: SparkContext) = ExecutorFeatureSuite.duplicated(sc, attempts)
    val expected = FeatureSuite.bySortShuffle(spark => FeatureSuite.rows(duplicated(spark.sparkContext)))
    failAfter(3.minutes)(onTwoHosts { master =>
      withCluster(
        required,
        master,
        "spark.locality.wait" -> "0", // no reducer waits for the host that its blocks are on
        "spark.speculation" -> "true",
        "spark.speculation.interval" -> "100ms",
        "spark.speculation.quantile" -> "0.5",
        "spark.speculation.minTaskRuntime" -> "0ms"
      ) { sc =>
        val squares = new Shuffled(duplicated(sc), expected)
        squares.assertRows()
        // reducers are overtaken, too, by those on the host that has the blocks
        val deadline = 1.minute.fromNow
        while (report().rdmaBytes == 0 && deadline.hasTimeLeft()) squares.assertRows()
        assertAllByRdma()
      }
    })
  }
}

object ExecutorFeatureSuite extends Eventually {

  /** Of three executors, one of which hands its map outputs on when it is to go. */
  val decommissioning: Seq[(String, String)] = Seq(
    "spark.master" -> "local-cluster[3,1,1024]",
    "spark.decommission.enabled" -> "true",
    "spark.storage.decommission.enabled" -> "true",
    "spark.storage.decommission.shuffleBlocks.enabled" -> "true"
  )

  def squares(numbers: RDD[Int]): RDD[(Int, Long)] =
    numbers.map(i => (i, i.toLong * i)).partitionBy(new HashPartitioner(6))

  def freePort(): Int = {
    val socket = new ServerSocket(0)
    try socket.getLocalPort
    finally socket.close()
  }

  def pidOf(sc: SparkContext, executorId: String): Long =
    RealCluster.onExecutors(sc)(() => ProcessHandle.current.pid)(executorId)

  /** Ends this process if it is the one; else waits until that is gone. */
  def meetDeathOf(pid: Long): Iterator[Nothing] = {
    if (ProcessHandle.current.pid == pid) Runtime.getRuntime.halt(137)
    ProcessHandle.of(pid).ifPresent(process => process.onExit.get(60, TimeUnit.SECONDS))
    Iterator.empty
  }

  /** Squares of which the first map task ends only when a second attempt of it ends too, if it runs on an executor. */
  def duplicated(sc: SparkContext, attempts: String): RDD[(Int, Long)] =
    squares(
      sc.parallelize(0 until 2000, 4)
        .mapPartitionsWithIndex((index, rows) => if (index == 0) rows ++ meetSecondAttempt(attempts) else rows)
    )

  private def meetSecondAttempt(attempts: String): Iterator[Nothing] = {
    if (SparkEnv.get.executorId != "driver") {
      Files.createFile(Path.of(attempts, s"attempt-${TaskContext.get().attemptNumber()}"))
      eventually(timeout(60.seconds), interval(20.millis))(assert(Files.exists(Path.of(attempts, "attempt-1"))))
      eventually(timeout(60.seconds), interval(20.millis))(assert(Files.exists(Path.of(attempts, "attempt-0"))))
    }
    Iterator.empty
  }
}
