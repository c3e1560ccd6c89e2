package io.rdmashuffle.integration

import java.io.{File, RandomAccessFile}
import java.nio.ByteBuffer
import java.nio.file.Files

import org.apache.spark.{SparkContext, SparkEnv}
import org.apache.spark.rdd.RDD
import org.apache.spark.rdmashuffle.SparkInternals
import org.apache.spark.storage.{ShuffleDataBlockId, ShuffleIndexBlockId}

/** Bytes that are not what was written are found by Spark's own means, and never become an answer. */
class CorruptionSuite extends FeatureSuite {

  private val lookAhead = "spark.shuffle.detectCorrupt.useExtraMemory" -> "true"

  private def flips(rule: String) = "spark.executorEnv.SOFTVERBS_FAULTS" -> s"read $rule corrupt"

  shuffleTest("bits flipped on the way are found, and the blocks read again over TCP", lookAhead, flips("every 5")) {
    (sc, squares) =>
      val failures = new FetchFailures(sc)
      squares.assertRows()
      val seen = report()
      assert(seen.fallbacks.get("CORRUPT") > 0, seen)
      assert(seen.rdmaBytes > 0 && seen.tcpBytes > 0, seen)
      assert(failures.messages.isEmpty)
  }

  shuffleTest("found while they are decoded, they are diagnosed as the network's", required, flips("when 2")) {
    (sc, squares) =>
      val failures = new FetchFailures(sc)
      squares.assertRows()
      assert(report().fallbacks.get("CORRUPT") > 0, report())
      assert(failures.messages.exists(_.contains("corrupted due to NETWORK_ISSUE")), failures.messages)
  }

  shuffleTest(
    "a bit flipped in a registered file is found over TCP too; the disk is blamed and the map output made again",
    lookAhead +: CorruptionSuite.placed: _*
  ) { (sc, squares) =>
    val failures = flipInFile(sc, squares)
    val seen = report()
    assert(seen.fallbacks.get("CORRUPT") > 1, seen) // asked for again, then diagnosed
    assert(seen.tcpBytes > 0, seen)
    assert(failures.exists(_.contains("corrupted due to DISK_ISSUE")), failures)
  }

  shuffleTest(
    "found while it is decoded, it is diagnosed as the disk's, and the map output made again is read by RDMA",
    required +: CorruptionSuite.placed: _*
  ) { (sc, squares) =>
    val failures = flipInFile(sc, squares)
    val seen = report()
    assert(seen.fallbacks.get("CORRUPT") == 1 && seen.tcpBytes == 0, seen)
    assert(failures.exists(_.contains("corrupted due to DISK_ISSUE")), failures)
    squares.assertRows()
    assert(report().rdmaBytes > seen.rdmaBytes && report().tcpBytes == 0, report())
  }

  /** Changes one bit of a map output that was read before, and has all read by the executor that did not write it. */
  private def flipInFile(sc: SparkContext, squares: Shuffled): Seq[String] = {
    squares.assertRows()
    assertAllByRdma()
    val shuffleId = squares.id // the rest cannot go to executors
    val outputs = RealCluster.onExecutors(sc)(() => CorruptionSuite.dataFiles(shuffleId))
    assert(outputs.size == 2)
    val (owner, files) = outputs.find(_._2.nonEmpty).get
    (CorruptionSuite.flipBit _).tupled(files.head)
    val failures = new FetchFailures(sc)
    squares.assertRows(CorruptionSuite.readBy(sc, (outputs.keySet - owner).head, squares.rdd))
    failures.messages
  }
}

object CorruptionSuite {

  /** Tasks run where they are wanted, however long that takes. */
  private val placed = Seq("spark.shuffle.reduceLocality.enabled" -> "false", "spark.locality.wait" -> "10m")

  private def readBy(sc: SparkContext, executorId: String, rdd: RDD[(Int, Long)]): RDD[(Int, Long)] = {
    val (host, _) = SparkInternals.addressOf(sc, executorId).get
    val there = sc.makeRDD(Seq.fill(rdd.getNumPartitions)((0, Seq(s"executor_${host}_$executorId"))))
    rdd.zipPartitions(there, preservesPartitioning = true)((pairs, _) => pairs)
  }

  /** Those of the shuffle that this executor wrote, and how long the first block of each is. */
  private def dataFiles(shuffleId: Int): Map[File, Long] = {
    val blocks = SparkEnv.get.blockManager.diskBlockManager
    blocks
      .getAllBlocks()
      .collect { case data @ ShuffleDataBlockId(`shuffleId`, mapId, reduceId) =>
        val index = Files.readAllBytes(blocks.getFile(ShuffleIndexBlockId(shuffleId, mapId, reduceId)).toPath)
        blocks.getFile(data) -> ByteBuffer.wrap(index).getLong(java.lang.Long.BYTES)
      }
      .toMap
  }

  /** In the middle of the first block. */
  private def flipBit(data: File, firstEnd: Long): Unit = {
    require(firstEnd > 0, "an empty block")
    val file = new RandomAccessFile(data, "rw")
    try {
      file.seek(firstEnd / 2)
      val byte = file.readByte()
      file.seek(firstEnd / 2)
      file.writeByte(byte ^ 1)
    } finally file.close()
  }
}
