package io.rdmashuffle.integration.mapreduce

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration.Inf
import scala.concurrent.{Await, Future}

import org.scalatest.time.SpanSugar._

/** Jobs whose every segment is read over RDMA give, byte for byte, what the stock shuffle gives. */
class MapReduceSuite extends YarnCluster {

  private lazy val input = text(files = 2, lines = 20000)

  private lazy val expected = run(WordCount.job(_, input, _, 4), stock()).files

  test("words are counted with a combiner, sorted by a comparator, and two partitions are empty") {
    val read = run(WordCount.job(_, input, _, 4), ours(required))
    read.assertAllByRdma()
    assert(read.files == expected)
    assert(read.files.size == 4 && read.files("part-r-00000").isEmpty)
  }

  test("map outputs compressed by each codec, encrypted in their files, or both, in six jobs at a time") {
    def compressed(codec: String) = Seq(
      "mapreduce.map.output.compress" -> "true",
      "mapreduce.map.output.compress.codec" -> s"org.apache.hadoop.io.compress.$codec"
    )
    val encrypted = "mapreduce.job.encrypted-intermediate-data" -> "true"
    // the sixth, ZStandardCodec, needs Hadoop's own native library
    val kinds = Seq(
      compressed("DefaultCodec"),
      compressed("GzipCodec"),
      compressed("BZip2Codec"),
      compressed("Lz4Codec") :+ encrypted,
      compressed("SnappyCodec") :+ encrypted,
      Seq(encrypted)
    )
    val jobs = kinds.map(kind => Future(run(WordCount.job(_, input, _, 4), ours(kind :+ required: _*))))
    for ((read, kind) <- Await.result(Future.sequence(jobs), Inf).zip(kinds)) withClue(kind) {
      read.assertAllByRdma()
      assert(read.files == expected)
    }
  }

  test("a segment of more than 64 MiB goes to the reducer's disk") {
    val numbers = lines("numbers", (0 until 70).map(_.toString))
    val read = run(LargeRecords.job(_, numbers, _), ours(required))
    read.assertAllByRdma()
    assert(read.shuffledBytes > (64 << 20))
    assert(read.files == run(LargeRecords.job(_, numbers, _), stock()).files)
  }

  test("TeraSort sorts what TeraGen made, and TeraValidate agrees") {
    val (rows, sorted, stockSorted) = (path("rows"), path("sorted"), path("stock-sorted"))
    failAfter(8.minutes) {
      Tera.generate(stock(), 100000, 2, rows)
      new Ran(Tera.sort(ours(required), rows, sorted, 2), sorted).assertAllByRdma()
      Tera.sort(stock(), rows, stockSorted, 2)
      Tera.validate(stock(), sorted, path("report"))
    }
    assert(filesOf(sorted) == filesOf(stockSorted))
    assert(filesOf(sorted).values.map(_.size).sum == 100 * 100000)
  }

  test("maps that fail, or are so slow that others overtake them, run again and are not read") {
    val read = run(
      (conf, output) => UnluckyWords.in(WordCount.job(conf, input, output, 4)),
      ours(required, "mapreduce.map.speculative" -> "true")
    )
    read.assertAllByRdma()
    assert(read.files == expected)
    assert(read.launchedMaps == 4 && read.failedMaps == 1 && read.killedMaps == 1)
  }

  for (
    (kind, setting) <- Seq(
      "in the ApplicationMaster's process" -> ("mapreduce.job.ubertask.enable" -> "true"),
      "in the client's process" -> ("mapreduce.framework.name" -> "local")
    )
  )
    test(s"a job $kind leaves the shuffle to Hadoop") {
      val ran = run(WordCount.job(_, input, _, 1), ours(required, setting))
      assert(ran.isUber == kind.contains("ApplicationMaster"))
      assert(ran.files == run(WordCount.job(_, input, _, 1), stock(setting)).files)
      assert(ran.counter("RDMA_BYTES") == 0 && ran.counter("HTTP_BYTES") == 0)
    }

  test(
    "after the jobs the NodeManagers hold no memory region, queue pair, protection domain, mapping or thread of them"
  ) {
    assert(running.map(metric(_, "ServedSegments")).forall(_ > 0))
    assert(running.map(metric(_, "RefusedLookups")).sum == 0)
    assertNothingLeft()
  }
}
