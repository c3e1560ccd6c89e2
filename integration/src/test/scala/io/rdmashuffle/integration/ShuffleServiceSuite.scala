package io.rdmashuffle.integration

import org.apache.spark.SparkContext
import org.apache.spark.rdmashuffle.{ShuffleService, SparkInternals}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.time.SpanSugar._

/** With an external shuffle service beside the executors. */
class ShuffleServiceSuite extends FeatureSuite with Eventually with BeforeAndAfterAll {

  private lazy val service = new ShuffleService

  override def afterAll(): Unit =
    try service.close()
    finally super.afterAll()

  private def serviceTest(name: String, settings: (String, String)*)(body: (SparkContext, Shuffled) => Unit): Unit =
    shuffleTest(name, service.settings ++ settings: _*)(body)

  serviceTest("executors that live are read over RDMA, not through the service", required) { (_, squares) =>
    squares.assertRows()
    assertAllByRdma()
  }

  serviceTest(
    "executors that dynamic allocation took away are read through the service, over TCP",
    "spark.dynamicAllocation.enabled" -> "true",
    "spark.dynamicAllocation.initialExecutors" -> "2",
    "spark.dynamicAllocation.maxExecutors" -> "2",
    "spark.dynamicAllocation.executorIdleTimeout" -> "3s"
  ) { (sc, squares) =>
    squares.assertRows()
    val writers = SparkInternals.ownersOf(sc, squares.id)
    eventually(timeout(60.seconds), interval(200.millis)) {
      assert(SparkInternals.executorIds(sc) == Set("driver"))
    }
    squares.assertRows()
    assert(SparkInternals.ownersOf(sc, squares.id) == writers, "no map output was made again")
    val seen = report()
    assert(seen.tcpBytes > 0 && seen.fallbacks.keySet == java.util.Set.of("NOT_PUBLISHED"), seen)
  }

  private val pushing = Seq(
    "spark.testing" -> "true", // else Spark merges on YARN only
    "spark.serializer" -> "org.apache.spark.serializer.KryoSerializer",
    "spark.shuffle.push.enabled" -> "true",
    "spark.shuffle.push.minShuffleSizeToWait" -> "0",
    "spark.shuffle.push.finalize.timeout" -> "10s"
  )

  serviceTest("blocks that were pushed and merged come from the service, over TCP", pushing: _*) { (sc, squares) =>
    service.mergeFor(sc)
    squares.assertRows()
    val seen = report()
    assert(seen.tcpBytes > 0 && seen.fallbacks.keySet == java.util.Set.of("UNSUPPORTED_BLOCK"), seen)
  }

  test("where merged blocks cannot be had, their originals come over RDMA") {
    failAfter(3.minutes)(onTwoHosts { master =>
      withShuffled(service.settings ++ pushing :+ required :+ master :+ ("spark.locality.wait" -> "0"): _*) {
        (sc, squares) =>
          service.mergeFor(sc)
          squares.assertRows()
          val seen = report()
          assert(seen.rdmaBytes > 0 && seen.tcpBytes == 0, seen)
          assert(seen.fallbacks.keySet == java.util.Set.of("UNSUPPORTED_BLOCK"), seen)
      }
    })
  }
}
