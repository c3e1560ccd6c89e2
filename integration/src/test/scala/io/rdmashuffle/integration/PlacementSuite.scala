package io.rdmashuffle.integration

import java.util.Random

import org.apache.spark.{HashPartitioner, SparkContext}
import org.apache.spark.rdd.RDD

/** Map outputs that are more than may be registered. */
class PlacementSuite extends RealCluster {

  private val budgetBytes = 1L << 20
  private val executors = 2

  private val smallBudget = "spark.shuffle.rdma.pinned.maxBytes" -> "1m"
  private val patient = "spark.shuffle.rdma.sink.wait" -> "60s" // a quarter of the budget is for all sinks

  import PlacementSuite._

  private def assertRight(rdd: RDD[(Int, Array[Byte])], seed: Int): Unit =
    assert(countRight(rdd, seed) == maps * records)

  clusterTest(
    "a job that shuffles ten times its pinned budget finishes right with DIRECT and STAGED bytes shown",
    required,
    smallBudget,
    patient
  ) { sc =>
    assertRight(shuffled(sc, 0), 0)
    val seen = report()
    assert(seen.publishedBytes >= 10 * executors * budgetBytes, seen)
    assert(seen.directBytes > 0 && seen.stagedBytes > 0, seen)
    assert(seen.directBytes + seen.odpBytes + seen.stagedBytes == seen.rdmaBytes, seen)
    assert(seen.registeredBytes > 0 && seen.registeredBytes <= executors * budgetBytes, seen)
    assertAllByRdma()
  }

  clusterTest(
    "an older shuffle makes room for a newer one and can still be read",
    required,
    smallBudget,
    patient,
    "spark.shuffle.rdma.withdraw.grace" -> "100ms"
  ) { sc =>
    val older = shuffled(sc, 0)
    assertRight(older, 0)
    assertRight(shuffled(sc, 1), 1)
    assertRight(older, 0)
    val seen = report()
    assert(seen.withdrawnShuffles > 0, seen)
    assert(seen.stagedBytes > 0, seen)
    assertAllByRdma()
  }

  clusterTest(
    "beyond the pinned budget map outputs are read over TCP and counted when staging is denied",
    smallBudget,
    patient,
    "spark.shuffle.rdma.staging.maxBytes" -> "0"
  ) { sc =>
    assertRight(shuffled(sc, 0), 0)
    val seen = report()
    assert(seen.directBytes > 0 && seen.stagedBytes == 0 && seen.tcpBytes > 0, seen)
    assert(seen.fallbacks.get("OVER_BUDGET") > 0 && seen.fallbacks.get("NOT_PUBLISHED") > 0, seen)
  }
}

object PlacementSuite {

  val maps = 96
  val records = 55
  private val recordBytes = 4096

  /** 22 MB that cannot be compressed, in 96 map outputs. */
  def shuffled(sc: SparkContext, seed: Int): RDD[(Int, Array[Byte])] =
    sc.parallelize(0 until maps, maps)
      .flatMap(map => Iterator.tabulate(records)(i => (map * records + i, bytes(seed + map * records + i))))
      .partitionBy(new HashPartitioner(6))

  /** How many distinct keys have the value that they were given. */
  def countRight(rdd: RDD[(Int, Array[Byte])], seed: Int): Long =
    rdd
      .mapPartitions { rows =>
        Iterator(
          rows.collect { case (key, value) if java.util.Arrays.equals(value, bytes(seed + key)) => key }.toSet.size
        )
      }
      .collect()
      .map(_.toLong)
      .sum

  private def bytes(seed: Int): Array[Byte] = {
    val bytes = new Array[Byte](recordBytes)
    new Random(seed).nextBytes(bytes)
    bytes
  }
}
