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

  test("a job in one process leaves the shuffle to Hadoop") {
    val inProcess = "mapreduce.framework.name" -> "local"
    val local = run(WordCount.job(_, input, _, 1), ours(required, inProcess))
    assert(local.files == run(WordCount.job(_, input, _, 1), stock(inProcess)).files)
    assert(local.counter("RDMA_BYTES") == 0)
  }

  test(
    "after the jobs the NodeManagers hold no memory region, queue pair, protection domain, mapping or thread of them"
  ) {
    eventually {
      for (node <- running) {
        assert(metric(node, "Jobs") == 0)
        assert(metric(node, "RegisteredBytes") == 0)
        assert(verbsObjects(node).forall(_ == 0), node.log)
        assert(!mappings(node).contains("file.out"))
        assert(!threads(node).exists(_.startsWith("rdma-shuffle-lo")))
      }
    }
  }
}
