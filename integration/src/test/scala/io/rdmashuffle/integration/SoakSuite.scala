package io.rdmashuffle.integration

import java.nio.ByteOrder
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.concurrent.{Executors, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}
import scala.util.control.NonFatal

import org.apache.spark.{HashPartitioner, SparkContext}
import org.apache.spark.rdmashuffle.SparkInternals
import org.apache.spark.scheduler.{SparkListener, SparkListenerExecutorAdded, SparkListenerExecutorRemoved}
import org.scalatest.concurrent.Eventually
import org.scalatest.exceptions.TestFailedException
import org.scalatest.time.SpanSugar._

/** Random jobs under random faults from a seed, executors killed and replaced: no wrong answer, nothing left over. Only
  * for `bin/test soak`, which says by the environment how long, with which seed and where the result goes.
  */
class SoakSuite extends RealCluster with Eventually {

  private val executors = 3
  private val target = Files.createDirectories(Path.of("target", "soak")).toAbsolutePath
  private val faults = target.resolve("faults")
  private val resources = target.resolve("resources")

  private val settings = Seq(
    "spark.master" -> s"local-cluster[$executors,1,1024]",
    "spark.executorEnv.SOFTVERBS_FAULTS_FILE" -> faults.toString,
    "spark.executorEnv.SOFTVERBS_RESOURCES" -> resources.toString,
    "spark.shuffle.rdma.quarantine" -> "500ms",
    "spark.shuffle.rdma.connect.timeout" -> "1s",
    "spark.shuffle.rdma.read.timeout" -> "1s",
    "spark.shuffle.rdma.sink.wait" -> "500ms",
    "spark.shuffle.rdma.pinned.maxBytes" -> "64m",
    "spark.task.maxFailures" -> "1000",
    "spark.stage.maxConsecutiveAttempts" -> "1000",
    "spark.deploy.maxExecutorRetries" -> "-1",
    "spark.excludeOnFailure.enabled" -> "false",
    "spark.shuffle.io.maxRetries" -> "1",
    "spark.shuffle.io.retryWait" -> "1s"
  )

  private val scripts = IndexedSeq(
    "read prob 0.02 seed %d status=REM_ACCESS_ERR",
    "read prob 0.02 seed %d status=RETRY_EXC_ERR",
    "read prob 0.01 seed %d stall",
    "read prob 0.01 seed %d drop",
    "read prob 0.02 seed %d disconnect",
    "read prob 0.02 seed %d kill_qp",
    "read prob 0.05 seed %d delay=100",
    "connect prob 0.3 seed %d reject",
    "connect prob 0.3 seed %d drop",
    "accept prob 0.3 seed %d errno=EINVAL",
    "cm_event prob 0.1 seed %d drop",
    "cm_event prob 0.2 seed %d delay=300",
    "create_qp prob 0.3 seed %d errno=ENOMEM",
    "post_send prob 0.02 seed %d errno=ENOMEM",
    "reg_mr prob 0.2 seed %d errno=ENOMEM",
    "read prob 0.02 seed %d corrupt",
    "read prob 0.01 seed %d event=ADDR_CHANGE",
    "send prob 0.05 seed %d stall",
    "now port_down # %d"
  )

  for (minutes <- sys.env.get("SOAK_MINUTES").map(_.toInt)) {
    val seed = sys.env.get("SOAK_SEED").filter(_.nonEmpty).map(_.toLong).getOrElse(System.nanoTime())
    test(s"$minutes minutes of random jobs under random faults, seed $seed") {
      Files.deleteIfExists(faults)
      failAfter((minutes + 10).minutes)(withCluster(settings: _*)(new Soak(_, new Random(seed)).run(minutes, seed)))
    }
  }

  private class Soak(sc: SparkContext, random: Random) {

    private val timer = Executors.newSingleThreadScheduledExecutor()
    private val kills, lost, replacements = new AtomicInteger
    private var rounds, wrong, failed, leaks, leakChecks = 0

    def run(minutes: Int, seed: Long): Unit = {
      countExecutors()
      val deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(minutes)
      try
        while (System.nanoTime() < deadline) {
          round()
          if (rounds % 10 == 0) lookForLeaks()
        }
      finally timer.shutdownNow()
      lookForLeaks()
      assertReplaced()
      writeResult(minutes, seed)
      assert(wrong == 0 && failed == 0 && leaks == 0, s"$wrong wrong, $failed failed, $leaks leaks")
      assertRdmaAgain()
    }

    /** From now on, those that come are replacements. */
    private def countExecutors(): Unit = {
      SparkInternals.awaitExecutors(sc, executors)
      SparkInternals.drainListeners(sc)
      sc.addSparkListener(new SparkListener {
        override def onExecutorAdded(added: SparkListenerExecutorAdded): Unit = replacements.incrementAndGet()
        override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = lost.incrementAndGet()
      })
    }

    /** Executors were killed, each was replaced, some by one that was killed before it had come up; none ended by
      * itself.
      */
    private def assertReplaced(): Unit = {
      assert(kills.get > 0 && replacements.get > 0, s"$kills killed, $replacements came")
      awaitBlockManagers()
      eventually(timeout(60.seconds), interval(500.millis))(assert(lost.get == kills.get, s"$kills killed, $lost lost"))
    }

    /** Spark forgets those of an executor that a fetch failure named, until its next heartbeat; meanwhile it tells it
      * of no removed shuffle.
      */
    private def awaitBlockManagers(): Unit =
      eventually(timeout(60.seconds), interval(500.millis)) {
        assert((SparkInternals.executorIds(sc) - "driver").size == executors)
      }

    private def round(): Unit = {
      rounds += 1
      val script =
        if (random.nextInt(4) == 0) "" else scripts(random.nextInt(scripts.size)).format(1 + random.nextInt(1000))
      inject(if (script.startsWith("now")) script else s"now port_up; $script")
      val kill = random.nextInt(8) == 0 || rounds == 1
      println(s"round $rounds: '$script'${if (kill) ", an executor is killed" else ""}")
      if (kill) {
        val which = random.nextInt(executors)
        timer.schedule((() => killOne(which)): Runnable, 200L + random.nextInt(1500), TimeUnit.MILLISECONDS)
      }
      try job()
      catch {
        case answer: TestFailedException => wrong += told(answer)
        case NonFatal(error)             => failed += told(error)
      }
    }

    private def told(problem: Throwable): Int = {
      println(s"round $rounds: $problem")
      1
    }

    /** One of several shuffles whose answers are known; all of them are asserted row by row. */
    private def job(): Unit = {
      val keys = 1 + random.nextInt(3000)
      val perKey = 1 + random.nextInt(20)
      val slices = 2 + random.nextInt(6)
      random.nextInt(5) match {
        case 0 => assertSums(sc, keys, perKey)
        case 1 =>
          val sorted = pairs(sc, keys, perKey, slices).sortByKey(numPartitions = 3).keys.collect().toSeq
          assert(sorted == (0 until keys).flatMap(Seq.fill(perKey)(_)))
        case 2 =>
          val joined = pairs(sc, keys, 1, slices).join(pairs(sc, keys, perKey, slices), 4).count()
          assert(joined == keys.toLong * perKey)
        case 3 =>
          val sizes = sc
            .parallelize(0 until 6, 3)
            .map(i => (i, Array.fill(200000 * (1 + i))(i.toByte)))
            .partitionBy(new HashPartitioner(3))
            .mapValues(bytes => (bytes.length, bytes.toSet))
            .collect()
            .toMap
          assert(sizes == (0 until 6).map(i => i -> ((200000 * (1 + i), Set(i.toByte)))).toMap)
        case _ =>
          val twice = pairs(sc, keys, perKey, slices).reduceByKey(_ + _, 5).map(_.swap).groupByKey(3).mapValues(_.size)
          val sum = (0L until perKey.toLong).sum
          assert(twice.collect().toMap == Map(sum -> keys))
      }
    }

    /** Unless the one before was not replaced yet. */
    private def killOne(which: Int): Unit = {
      val living = executorPids()
      if (living.size == executors && ProcessHandle.of(living(which)).map[Boolean](_.destroyForcibly()).orElse(false))
        kills.incrementAndGet()
    }

    private def lookForLeaks(): Unit =
      try assertNothingLeft()
      catch { case left: TestFailedException => leaks += told(left) }

    /** What lives on may have connections among its kind, listeners and free sinks, and nothing else. */
    private def assertNothingLeft(): Unit = {
      leakChecks += 1
      inject("now port_up")
      SparkInternals.awaitExecutors(sc, executors)
      awaitBlockManagers()
      SparkInternals.removeAllShuffles(sc)
      eventually(timeout(60.seconds), interval(500.millis)) {
        val gauges = RealCluster.onExecutors(sc)(() => SparkInternals.gauges("rdmaShuffle"))
        for ((executor, values) <- gauges; if values.nonEmpty) {
          assert(values("registeredBytes") == 0, s"executor $executor: $values")
          assert(values("sinkLentBytes") == 0, s"executor $executor: $values")
        }
        for (pid <- executorPids()) {
          val live = counts(pid)
          assert(live(0) <= 1 && live(1) <= 1 && live(2) <= 2 * (executors - 1), s"PDs, CQs, QPs of $pid: $live")
        }
      }
    }

    private def assertRdmaAgain(): Unit = {
      val before = report()
      eventually(timeout(60.seconds), interval(1.second)) {
        val start = report()
        assertSums(sc)
        assert(report().rdmaBytes > start.rdmaBytes && report().tcpBytes == start.tcpBytes, s"$before then ${report()}")
      }
    }

    private def executorPids(): IndexedSeq[Long] =
      ProcessHandle
        .current()
        .descendants()
        .iterator()
        .asScala
        .toIndexedSeq
        .map(_.pid())
        .filter(commandLine(_).contains("CoarseGrainedExecutorBackend"))

    /** All of it: ProcessHandle knows the first page only, which the class path fills. */
    private def commandLine(pid: Long): String =
      Try(Files.readString(Path.of(s"/proc/$pid/cmdline"))).getOrElse("")

    /** PDs, CQs, QPs, cm_ids, MRs. */
    private def counts(pid: Long): IndexedSeq[Int] = {
      val file = resources.resolve(pid.toString)
      if (!Files.exists(file)) return IndexedSeq.fill(5)(0)
      val ints = java.nio.ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder()).asIntBuffer()
      IndexedSeq.fill(5)(ints.get())
    }

    private def writeResult(minutes: Int, seed: Long): Unit = {
      val seen = report()
      val fallbacks = seen.fallbacks.asScala.map { case (reason, blocks) => s""""$reason":$blocks""" }.mkString(",")
      val json =
        s"""{"minutes":$minutes,"seed":$seed,"jobs":$rounds,"wrong":$wrong,"failed":$failed,"leaks":$leaks,"leak_checks":$leakChecks,""" +
          s""""executors_killed":$kills,"executors_replaced":$replacements,"rdma_bytes":${seen.rdmaBytes},"tcp_bytes":${seen.tcpBytes},"fallbacks":{$fallbacks}}"""
      Files.writeString(target.resolve("result.json"), json + "\n")
      println(json)
    }
  }

  private def inject(script: String): Unit = {
    val next = faults.resolveSibling("faults.next")
    Files.writeString(next, script)
    Files.move(next, faults, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
  }
}
