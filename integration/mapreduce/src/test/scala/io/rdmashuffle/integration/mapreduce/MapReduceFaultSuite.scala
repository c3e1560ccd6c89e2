package io.rdmashuffle.integration.mapreduce

/** What goes wrong on the way changes no output and makes no map run again. One of the two NodeManagers is a stock one.
  */
class MapReduceFaultSuite extends YarnCluster {

  private val stockHandler = MiniCluster.SHUFFLE_HANDLER -> "org.apache.hadoop.mapred.ShuffleHandler"

  override protected def nodes: Seq[Map[String, String]] = Seq(Map.empty, Map(stockHandler))

  private lazy val input = text(files = 6, lines = 5000)

  private lazy val stock = run(WordCount.job(_, input, _, 4))

  private def assertFellBack(ran: Ran, reasons: String*): Unit = {
    assert(ran.files == stock.files)
    assert(ran.counter("HTTP_BYTES") > 0)
    assert(ran.counter("RDMA_BYTES") + ran.counter("HTTP_BYTES") == ran.shuffledBytes)
    assert(reasons.exists(ran.fallbacks.contains), ran.fallbacks)
    assert(ran.failedShuffles == 0)
    assert(ran.launchedMaps == 6)
  }

  test("map outputs of a stock NodeManager come over HTTP, those of the other over RDMA") {
    val ran = run(WordCount.job(_, input, _, 4), ours)
    assertFellBack(ran, "NOT_PUBLISHED")
    assert(ran.counter("RDMA_BYTES") > 0)
  }

  for (
    (fault, script, reasons) <- Seq(
      ("bits that flip on the way", "read every 2 corrupt", Seq("CORRUPT")),
      ("a lost connection", "read when 2 disconnect", Seq("CONNECTION_LOST", "READ_FAILED"))
    )
  )
    test(s"$fault cost only speed") {
      inject(script)
      try assertFellBack(run(WordCount.job(_, input, _, 4), ours), reasons: _*)
      finally inject("")
    }
}
