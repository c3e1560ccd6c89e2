package io.rdmashuffle.integration

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
}
