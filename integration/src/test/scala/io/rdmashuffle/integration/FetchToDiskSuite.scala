package io.rdmashuffle.integration

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.{HashPartitioner, SparkContext}
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}

/** Requests above spark.network.maxRemoteBlockSizeFetchToMem go to Spark's temporary files, slice by slice, over RDMA
  * too.
  */
class FetchToDiskSuite extends RealCluster {

  private val toDisk = "spark.network.maxRemoteBlockSizeFetchToMem" -> "100k"

  /** Blocks of 1.5 to 3 MB through slices of 256 KiB. */
  private val smallSinks = Seq("spark.shuffle.rdma.sink.maxBytes" -> "1m", "spark.shuffle.compress" -> "false")

  private def rows(sc: SparkContext): Seq[(Int, String)] =
    sc.parallelize(0 until 24, 4)
      .map(i => (i, Array.tabulate(300000 + i * 11)(at => (at * 31 + i).toByte)))
      .partitionBy(new HashPartitioner(4))
      .mapPartitions(_.map { case (i, bytes) => (i, s"${bytes.length} ${java.util.Arrays.hashCode(bytes)}") })
      .collect()
      .sorted
      .toSeq

  /** What remote blocks tasks say they wrote to disk. */
  private def countReadToDisk(sc: SparkContext): AtomicLong = {
    val bytes = new AtomicLong
    sc.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        bytes.addAndGet(end.taskMetrics.shuffleReadMetrics.remoteBytesReadToDisk)
    })
    bytes
  }

  test("long blocks arrive in files by RDMA_READ, row by row as with sort shuffle") {
    val stock = withCluster(toDisk, "spark.shuffle.manager" -> "sort")(rows)
    withCluster(smallSinks :+ required :+ toDisk: _*) { sc =>
      val readToDisk = countReadToDisk(sc)
      assert(rows(sc) == stock)
      assertAllByRdma()
      org.apache.spark.rdmashuffle.SparkInternals.drainListeners(sc)
      assert(readToDisk.get > 0, "Spark must have seen files")
    }
  }

  /** READs of offsets, which come before any slice of the first block, and of slices. */
  for (every <- Seq(1, 5))
    clusterTest(
      s"long blocks are read over TCP when every READ of $every fails",
      smallSinks ++ Seq(
        toDisk,
        "spark.shuffle.rdma.quarantine" -> "0ms",
        "spark.executorEnv.SOFTVERBS_FAULTS" -> s"read every $every status=RETRY_EXC_ERR"
      ): _*
    ) { sc =>
      val expected = (0 until 24).map { i =>
        val bytes = Array.tabulate(300000 + i * 11)(at => (at * 31 + i).toByte)
        (i, s"${bytes.length} ${java.util.Arrays.hashCode(bytes)}")
      }
      assert(rows(sc) == expected)
      val seen = report()
      assert(seen.tcpBytes > 0 && seen.fallbacks.containsKey("READ_FAILED"), seen)
    }
}
