package io.rdmashuffle.integration.mapreduce

import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption.{READ, WRITE}
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.mapreduce.{Job, MRJobConfig}
import org.scalatest.Outcome
import org.scalatest.time.SpanSugar._

/** What goes wrong on the way changes no output and makes no map run again. One of the two NodeManagers is a stock one
  * at first, and becomes one of ours on the way.
  */
class MapReduceFaultSuite extends YarnCluster {

  private val maps = 6

  override def withFixture(test: NoArgTest): Outcome =
    try super.withFixture(test)
    finally inject("")

  override protected def nodes: Seq[Map[String, String]] =
    Seq(Map.empty, Map(MiniCluster.SHUFFLE_HANDLER -> "org.apache.hadoop.mapred.ShuffleHandler"))

  private lazy val second = running(1)

  private lazy val input = text(files = maps, lines = 5000)

  /** Hadoop's reducers, on one NodeManager of each kind. */
  private lazy val expected = run(WordCount.job(_, input, _, 4), stock()).files

  private def assertFellBack(ran: Ran, reasons: String*): Unit = {
    assert(ran.files == expected)
    assert(ran.counter("HTTP_BYTES") > 0)
    assert(ran.counter("RDMA_BYTES") + ran.counter("HTTP_BYTES") == ran.shuffledBytes)
    assert(reasons.exists(ran.fallbacks.contains), ran.fallbacks)
    assert(ran.launchedMaps == maps)
  }

  /** WordCount whose maps but the first wait until `meanwhile` has ended. */
  private def gated(settings: (String, String)*)(meanwhile: Job => Unit): Ran = {
    val gate = Files.createTempDirectory(directory, "gate").resolve("open")
    run(
      (conf, output) => GatedWords.in(WordCount.job(conf, input, output, 4), gate),
      ours(settings: _*),
      job =>
        try meanwhile(job)
        finally Files.createFile(gate)
    )
  }

  test("map outputs of a stock NodeManager come over HTTP, those of the other over RDMA") {
    val ran = run(WordCount.job(_, input, _, 4), ours())
    assertFellBack(ran, "NOT_PUBLISHED")
    assert(ran.counter("RDMA_BYTES") > 0)
    assert(ran.failedShuffles == 0)
  }

  test("a job that requires RDMA fails where a NodeManager has none, and says so") {
    val job = WordCount.job(ours(required, "mapreduce.reduce.maxattempts" -> "1"), input, path("refused"), 4)
    failAfter(6.minutes)(assert(!job.waitForCompletion(false)))
    val reduces = job.getTaskCompletionEvents(0, 100).filterNot(_.isMapTask)
    val why = reduces.flatMap(event => job.getTaskDiagnostics(event.getTaskAttemptId)).mkString
    assert(why.contains("mode=required") && why.contains("NOT_PUBLISHED"))
  }

  for (
    (fault, script, reasons) <- Seq(
      ("bits that flip on the way", "read every 2 corrupt", Seq("CORRUPT")),
      ("a lost connection", "read when 2 disconnect", Seq("CONNECTION_LOST", "READ_FAILED"))
    )
  )
    test(s"$fault cost only speed") {
      inject(script)
      val ran = run(WordCount.job(_, input, _, 4), ours())
      assertFellBack(ran, reasons: _*)
      assert(ran.failedShuffles == 0)
    }

  test("map outputs of a NodeManager without RDMA come over HTTP, those of the other over RDMA") {
    change(
      second,
      MiniCluster.SHUFFLE_HANDLER -> "io.rdmashuffle.mapreduce.RdmaShuffleHandler",
      "mapreduce.shuffle.rdma.listen.subnets" -> "203.0.113.0/24"
    )
    val ran = run(WordCount.job(_, input, _, 4), ours())
    assertFellBack(ran, "UNAVAILABLE")
    assert(ran.counter("RDMA_BYTES") > 0)
    assert(ran.failedShuffles == 0)
  }

  test("map outputs beyond a job's budget in a NodeManager come over HTTP, and are counted there") {
    change(
      second,
      "mapreduce.shuffle.rdma.listen.subnets" -> "",
      "mapreduce.shuffle.rdma.pinned.maxBytesPerApplication" -> "1m"
    )
    val numbers = (0 until 4).map(file => lines("numbers", Seq(s"${2 * file}", s"${2 * file + 1}"))).last
    val ran = run(LargeRecords.job(_, numbers, _), ours())
    assert(ran.files == run(LargeRecords.job(_, numbers, _), stock()).files)
    assert(ran.counter("RDMA_BYTES") > 0 && ran.counter("HTTP_BYTES") > 0)
    assert(ran.fallbacks.keySet == Set("OVER_BUDGET"))
    assert(metric(second, "RefusedOutputs") > 0)
  }

  test("when the last NodeManager is like the others, all map outputs come over RDMA") {
    change(
      second,
      MiniCluster.SHUFFLE_HANDLER -> "io.rdmashuffle.mapreduce.RdmaShuffleHandler",
      "mapreduce.shuffle.rdma.pinned.maxBytesPerApplication" -> "0"
    )
    val ran = run(WordCount.job(_, input, _, 4), ours(required))
    ran.assertAllByRdma()
    assert(ran.files == expected)
  }

  test("a NodeManager killed under its readers and started again costs no map, and is read over RDMA again") {
    val pids = running.map(_.pid)
    def restarted = running.filterNot(node => pids.contains(node.pid)).head
    inject("read stall") // until the connections break, so that the reducers are in the middle of it
    val ran = gated(
      "mapreduce.shuffle.rdma.read.timeout" -> "10min",
      "mapreduce.shuffle.rdma.quarantine" -> "0ms",
      "mapreduce.reduce.shuffle.fetch.retry.timeout-ms" -> "300000"
    ) { job =>
      val output = eventually(outputOfFirstMap(job).get)
      val owner = running.find(node => output.startsWith(node.directory)).get
      eventually(assert(queuePairs(owner) >= 2)) // the reducers that find room beside the waiting maps
      owner.kill()
      inject("")
      change(owner)
    }
    assertFellBack(ran, "CONNECTION_LOST")
    assert(ran.failedShuffles == 0 && ran.launchedReduces == 4)

    val before = metric(restarted, "ServedSegments")
    run(WordCount.job(_, input, _, 4), ours(required)).assertAllByRdma()
    assert(metric(restarted, "ServedSegments") > before)
  }

  test("a bit flipped in the file of a map output is found, and the map runs again, as with Hadoop's shuffle") {
    val ran = gated(
      "mapreduce.job.reduce.slowstart.completedmaps" -> "1.0",
      "mapreduce.reduce.shuffle.max-fetch-failures-notifications" -> "1"
    )(job => flipBit(eventually(outputOfFirstMap(job).get)))
    assert(ran.files == expected)
    assert(ran.fallbacks.contains("CORRUPT"))
    assert(ran.launchedMaps == maps + 1)
  }

  test("a shuffle over TLS does without RDMA unless the map outputs are encrypted in their files") {
    val tls = new Tls(directory)
    running.foreach(node => tls.writeServer(node.directory))
    val on = "mapreduce.shuffle.ssl.enabled" -> "true"
    running.foreach(change(_, on))
    val certificate =
      MRJobConfig.MAPREDUCE_APPLICATION_CLASSPATH -> s"${tls.client},${stock().get(MRJobConfig.MAPREDUCE_APPLICATION_CLASSPATH)}"
    val http = run(WordCount.job(_, input, _, 4), ours(on, certificate))
    assertFellBack(http, "ENCRYPTION")
    assert(http.counter("RDMA_BYTES") == 0)
    val encrypted = "mapreduce.job.encrypted-intermediate-data" -> "true"
    val rdma = run(WordCount.job(_, input, _, 4), ours(on, certificate, encrypted, required))
    rdma.assertAllByRdma()
    assert(rdma.files == expected)
  }

  test("after the jobs the NodeManagers hold nothing of them, whatever went wrong") {
    assertNothingLeft()
  }

  private def change(node: NodeManagerProcess, settings: (String, String)*): Unit =
    cluster.restart(node, settings.toMap.asJava)

  /** The data file of the first map's first attempt, once it is complete. */
  private def outputOfFirstMap(job: Job): Option[Path] = {
    val attempt = job.getJobID.toString.replaceFirst("job", "attempt") + "_m_000000_0"
    val files = Files.walk(directory.resolve("cluster"))
    try
      files.iterator.asScala
        .find(_.endsWith(s"output/$attempt/file.out.index"))
        .filter(_ => job.mapProgress > 0.99f / maps)
        .map(_.resolveSibling("file.out"))
    finally files.close()
  }

  private def flipBit(file: Path): Unit = {
    val channel = FileChannel.open(file, READ, WRITE)
    try {
      val middle = channel.size / 2
      val byte = ByteBuffer.allocate(1)
      channel.read(byte, middle)
      byte.put(0, (byte.get(0) ^ 1).toByte).flip()
      channel.write(byte, middle)
    } finally channel.close()
  }
}
