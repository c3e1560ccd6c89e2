package io.rdmashuffle.integration.mapreduce

import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

/** Jobs whose every segment is read over RDMA give, byte for byte, what the stock shuffle gives. */
class MapReduceSuite extends YarnCluster with Eventually {

  private lazy val input = text(files = 2, lines = 20000)

  private lazy val stock = run(WordCount.job(_, input, _, 4))

  test("words are counted with a combiner, sorted by a comparator, and two partitions are empty") {
    val read = run(WordCount.job(_, input, _, 4), ours, required)
    read.assertAllByRdma()
    assert(read.files == stock.files)
    assert(read.files.size == 4 && read.files("part-r-00000").isEmpty)
  }

  for (codec <- Seq("DefaultCodec", "SnappyCodec"))
    test(s"map outputs compressed by $codec and encrypted in their files") {
      val read = run(
        WordCount.job(_, input, _, 4),
        ours,
        required,
        "mapreduce.map.output.compress" -> "true",
        "mapreduce.map.output.compress.codec" -> s"org.apache.hadoop.io.compress.$codec",
        "mapreduce.job.encrypted-intermediate-data" -> "true"
      )
      read.assertAllByRdma()
      assert(read.files == stock.files)
    }

  test("a segment of more than 64 MiB goes to the reducer's disk") {
    val numbers = lines("numbers", (0 until 70).map(_.toString))
    val read = run(LargeRecords.job(_, numbers, _), ours, required)
    read.assertAllByRdma()
    assert(read.shuffledBytes > (64 << 20))
    assert(read.files == run(LargeRecords.job(_, numbers, _)).files)
  }

  test("TeraSort sorts what TeraGen made, and TeraValidate agrees") {
    val conf = settings(ours, required)
    val (rows, sorted, stockSorted) = (path("rows"), path("sorted"), path("stock-sorted"))
    failAfter(8.minutes) {
      Tera.generate(conf, 100000, 2, rows)
      new Ran(Tera.sort(conf, rows, sorted, 2), sorted).assertAllByRdma()
      Tera.sort(settings(), rows, stockSorted, 2)
      Tera.validate(conf, sorted, path("report"))
    }
    assert(filesOf(sorted) == filesOf(stockSorted))
    assert(filesOf(sorted).values.map(_.size).sum == 100 * 100000)
  }

  test("a job of one process leaves the shuffle to Hadoop") {
    val local = run(WordCount.job(_, input, _, 4), ours, required, "mapreduce.framework.name" -> "local")
    assert(local.files == stock.files)
    assert(local.counter("RDMA_BYTES") == 0)
  }

  test(
    "after the jobs the NodeManagers hold no memory region, queue pair, protection domain, mapping or thread of them"
  ) {
    eventually(timeout(60.seconds), interval(500.millis)) {
      for (node <- running) {
        assert(verbsObjects(node).forall(_ == 0), node.log)
        assert(!mappings(node).contains("file.out"))
        assert(!threads(node).exists(_.startsWith("rdma-shuffle-lo")))
      }
    }
  }
}
