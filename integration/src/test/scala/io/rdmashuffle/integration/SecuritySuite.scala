package io.rdmashuffle.integration

/** What Spark's security settings ask for is kept, over RDMA or by staying on TCP. */
class SecuritySuite extends RealCluster {

  private val authenticate = "spark.authenticate" -> "true"

  private val secret = "spark.authenticate.secret" -> "known to this suite only"

  clusterTest("authentication alone lets blocks go over RDMA", required, authenticate, secret) { sc =>
    assertSums(sc)
    assertAllByRdma()
  }

  for (wire <- Seq("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption"))
    clusterTest(s"$wire keeps the bytes on TCP", authenticate, secret, wire -> "true") { sc =>
      assertSums(sc)
      val seen = report()
      assert(seen.rdmaBytes == 0 && seen.tcpBytes > 0, seen)
      assert(seen.fallbacks.keySet == java.util.Set.of("ENCRYPTION"), seen)
    }

  clusterTest(
    "encrypted files go over RDMA although the wire is to be encrypted",
    required,
    authenticate,
    secret,
    "spark.network.crypto.enabled" -> "true",
    "spark.io.encryption.enabled" -> "true"
  ) { sc =>
    assertSums(sc)
    assertAllByRdma()
  }

  clusterTest(
    "cleartext goes over RDMA only when it is allowed in so many words",
    required,
    authenticate,
    secret,
    "spark.network.crypto.enabled" -> "true",
    "spark.shuffle.rdma.allowCleartext" -> "true"
  ) { sc =>
    assertSums(sc)
    assertAllByRdma()
  }
}
