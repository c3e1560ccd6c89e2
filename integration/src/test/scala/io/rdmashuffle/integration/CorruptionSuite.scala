package io.rdmashuffle.integration

import java.io.{File, RandomAccessFile}
import java.nio.ByteBuffer
import java.nio.file.Files

import org.apache.spark.{SparkContext, SparkEnv}

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
    "bytes flipped in a registered file are diagnosed as the disk's, and its map output made again",
    required,
    "spark.shuffle.reduceLocality.enabled" -> "false"
  ) { (sc, squares) =>
    val readByOther = squares.readBy(sc, "1")
    squares.assertRows(readByOther)
    val failures = new FetchFailures(sc)
    CorruptionSuite.flipBytes(sc, squares.id, executorId = "0")
    squares.assertRows(readByOther)
    assert(report().fallbacks.get("CORRUPT") > 0, report())
    assert(failures.messages.exists(_.contains("corrupted due to DISK_ISSUE")), failures.messages)
  }
}

object CorruptionSuite {

  /** Flips a byte in each block of the shuffle that the executor wrote. */
  def flipBytes(sc: SparkContext, shuffleId: Int, executorId: String): Unit = {
    val flipped = RealCluster.onExecutors(sc) { () =>
      val mine = SparkEnv.get.executorId == executorId
      val files = if (mine) SparkEnv.get.blockManager.diskBlockManager.getAllFiles() else Nil
      val outputs = files.filter(_.getName.matches(s"shuffle_${shuffleId}_.*[.]data"))
      outputs.count(flipBlocks)
    }
    require(flipped.contains(executorId), "no block was flipped")
  }

  /** Once for each file, as several tasks come by. */
  private def flipBlocks(data: File): Boolean = {
    val first = new File(data.getPath + ".flipped").createNewFile()
    if (first) {
      val offsets = offsetsOf(new File(data.getPath.replace(".data", ".index")))
      val file = new RandomAccessFile(data, "rw")
      try
        offsets.zip(offsets.tail).filter { case (start, end) => start < end }.foreach { case (start, end) =>
          val middle = (start + end) / 2
          file.seek(middle)
          val byte = file.readByte()
          file.seek(middle)
          file.writeByte(byte ^ 1)
        }
      finally file.close()
    }
    first
  }

  private def offsetsOf(index: File): Seq[Long] = {
    val offsets = ByteBuffer.wrap(Files.readAllBytes(index.toPath)).asLongBuffer()
    Seq.fill(offsets.remaining)(offsets.get())
  }
}
