package io.rdmashuffle.integration

import org.apache.spark.{HashPartitioner, SparkException}
import org.apache.spark.rdmashuffle.SparkInternals

/** Which way the blocks take, and that the answers are right either way. */
class TransportSuite extends RealCluster {

  clusterTest("every remote block arrives by RDMA_READ and none by TCP", required) { sc =>
    assertSums(sc)
    assertAllByRdma()
    assert(report().executors.values.stream.allMatch(_.device == "softverbs0"))
  }

  clusterTest("grouping, joining, sorting and aggregating give the known answers over RDMA", required) { sc =>
    val left = sc.parallelize(0 until 5000, 4).map(i => (i, i.toString))
    val right = sc.parallelize(0 until 5000 by 5, 3).map(i => (i, -i))
    val joined = left.join(right, 6).collect().toSet
    assert(joined == (0 until 5000 by 5).map(i => (i, (i.toString, -i))).toSet)
    val sorted = sc.parallelize((0 until 20000).map(i => (i * 7919) % 20000), 5).map(i => (i, i)).sortByKey(true, 4)
    assert(sorted.keys.collect().toSeq == (0 until 20000))
    val sums = left.map { case (i, _) => (i % 10, i.toLong) }.reduceByKey(_ + _, 3).collect().toMap
    assert(sums == (0 until 10).map(d => d -> (d until 5000 by 10).map(_.toLong).sum).toMap)
    assertAllByRdma()
  }

  clusterTest("empty partitions first, last and in between, and a shuffle of nothing", required) { sc =>
    val few = sc.parallelize(Seq(3, 5), 4).map(i => (i, i)).partitionBy(new HashPartitioner(8))
    assert(few.glom().map(_.length).collect().toSeq == Seq(0, 0, 0, 1, 0, 1, 0, 0))
    assert(sc.emptyRDD[(Int, Int)].partitionBy(new HashPartitioner(3)).count() == 0)
    assert(sc.parallelize(Seq.empty[Int], 3).map(i => (i, i)).groupByKey(4).count() == 0)
  }

  clusterTest("blocks of megabytes arrive whole", required) { sc =>
    val sizes = sc
      .parallelize(0 until 8, 4)
      .map(i => (i, Array.fill(3 << 20)(i.toByte)))
      .partitionBy(new HashPartitioner(4))
      .mapPartitions(_.map { case (i, bytes) => (i, bytes.length, bytes.forall(_ == i.toByte)) })
      .collect()
      .sorted
      .toSeq
    assert(sizes == (0 until 8).map(i => (i, 3 << 20, true)))
    assertAllByRdma()
  }

  clusterTest("without a device blocks go over TCP, and the reason is told", noDevice) { sc =>
    assertSums(sc)
    val seen = report()
    assert(seen.rdmaBytes == 0 && seen.tcpBytes > 0, seen)
    assert(seen.fallbacks.keySet == java.util.Set.of("UNAVAILABLE"), seen)
    seen.executors.values.forEach(executor => assert(executor.reason.contains("no RDMA device"), seen))
  }

  clusterTest(
    "without libibverbs blocks go over TCP, and the reason is told",
    "spark.executorEnv.LD_LIBRARY_PATH" -> "/nonexistent",
    "spark.executorEnv.SOFTVERBS_DEVICES" -> ""
  ) { sc =>
    assertSums(sc)
    val seen = report()
    assert(seen.rdmaBytes == 0 && seen.tcpBytes > 0, seen)
    seen.executors.values.forEach(executor => assert(!executor.rdma && executor.reason.nonEmpty, seen))
  }

  clusterTest(
    "an executor that may not lock memory goes over TCP and names the limit",
    "spark.executorEnv.SOFTVERBS_FAULTS" -> "reg_mr errno=EPERM"
  ) { sc =>
    assertSums(sc)
    val seen = report()
    assert(seen.rdmaBytes == 0 && seen.tcpBytes > 0, seen)
    seen.executors.values.forEach(executor => assert(executor.reason.contains("MEMLOCK"), seen))
  }

  test("required without a device fails with the reason instead of going over TCP") {
    withCluster(required, noDevice, "spark.stage.maxConsecutiveAttempts" -> "1") { sc =>
      val failure = intercept[SparkException](assertSums(sc))
      assert(failure.getMessage.contains("mode=required"), failure.getMessage)
      assert(failure.getMessage.contains("UNAVAILABLE"), failure.getMessage)
      assert(report().tcpBytes == 0)
    }
  }

  clusterTest("off means that the native library is never loaded", "spark.shuffle.rdma.mode" -> "off") { sc =>
    assertSums(sc)
    val loaded = RealCluster.onExecutors(sc) { () =>
      scala.io.Source.fromFile("/proc/self/maps").getLines().exists(_.contains("librdmashuffle"))
    }
    assert(loaded.nonEmpty && !loaded.values.exists(identity), loaded)
  }

  clusterTest(
    "a removed shuffle leaves nothing published",
    required,
    "spark.cleaner.referenceTracking.blocking.shuffle" -> "true"
  ) { sc =>
    val grouped = pairs(sc, 100, 10, 4).groupByKey(3)
    grouped.count()
    assert(report().publishedOutputs > 0)
    SparkInternals.removeShuffle(sc, 0)
    assert(report().publishedOutputs == 0)
  }

  test("an unknown setting stops the start with the known ones") {
    val failure = intercept[Exception](withCluster("spark.shuffle.rdma.modus" -> "auto")(_ => ()))
    val messages = Iterator.iterate[Throwable](failure)(_.getCause).takeWhile(_ != null).map(_.toString).mkString
    assert(messages.contains("unknown setting spark.shuffle.rdma.modus"), messages)
  }
}
