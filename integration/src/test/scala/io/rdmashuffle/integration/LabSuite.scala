package io.rdmashuffle.integration

import org.apache.spark.HashPartitioner
import org.scalatest.time.SpanSugar._

/** One Spark job through a kernel's RDMA stack; `bin/test lab` runs it in a guest that has one. */
class LabSuite extends RealCluster {

  test("a Spark job whose blocks all arrive by RDMA_READ through the kernel") {
    assume(sys.env.contains("RDMA_SHUFFLE_TEST_ADDRESS"), "no kernel RDMA device here: bin/test lab brings its own")
    failAfter(10.minutes) {
      // emulated processors: a handshake may take its time
      withCluster(required, "spark.shuffle.rdma.connect.timeout" -> "60s", "spark.network.timeout" -> "600s") { sc =>
        assertSums(sc, keys = 500, perKey = 10)
        val large = sc
          .parallelize(0 until 4, 4)
          .map(i => (i, Array.fill(1 << 20)(i.toByte)))
          .partitionBy(new HashPartitioner(2))
          .mapPartitions(_.map { case (i, bytes) => (i, bytes.length, bytes.forall(_ == i.toByte)) })
          .collect()
          .sorted
          .toSeq
        assert(large == (0 until 4).map(i => (i, 1 << 20, true)))
        assertAllByRdma()
        assert(report().executors.values.stream.noneMatch(_.device.startsWith("softverbs")))
      }
    }
  }
}
