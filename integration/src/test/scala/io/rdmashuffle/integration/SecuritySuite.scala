package io.rdmashuffle.integration

/** What Spark's security settings ask for is kept, over RDMA or by staying on TCP. */
class SecuritySuite extends RealCluster {

  clusterTest("authentication alone lets blocks go over RDMA", required, "spark.authenticate" -> "true") { sc =>
    assertSums(sc)
    assertAllByRdma()
  }

  for (wire <- Seq("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption"))
    clusterTest(s"$wire keeps the bytes on TCP", "spark.authenticate" -> "true", wire -> "true") { sc =>
      assertSums(sc)
      val seen = report()
      assert(seen.rdmaBytes == 0 && seen.tcpBytes > 0, seen)
      assert(seen.fallbacks.keySet == java.util.Set.of("ENCRYPTION"), seen)
    }

  clusterTest(
    "encrypted files go over RDMA although the wire is to be encrypted",
    required,
    "spark.authenticate" -> "true",
    "spark.network.crypto.enabled" -> "true",
    "spark.io.encryption.enabled" -> "true"
  ) { sc =>
    assertSums(sc)
    assertAllByRdma()
  }

  clusterTest(
    "cleartext goes over RDMA only when it is allowed in so many words",
    required,
    "spark.authenticate" -> "true",
    "spark.network.crypto.enabled" -> "true",
    "spark.shuffle.rdma.allowCleartext" -> "true"
  ) { sc =>
    assertSums(sc)
    assertAllByRdma()
  }
}
