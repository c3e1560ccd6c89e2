package io.rdmashuffle.integration

import java.lang.ProcessBuilder.Redirect
import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.{Files, Path}
import java.util.HexFormat

import scala.jdk.CollectionConverters._
import scala.util.Random

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

  clusterTest("an attacker beside jobs gets nowhere, and they stay right and on RDMA", required, authenticate, secret) {
    sc =>
      assertSums(sc)
      val owners =
        RealCluster.directory().executors.asScala.map(_.owner).filter(_ != null).map(_.addresses.get(0)).toSeq
      assert(owners.size == 2)
      val attacks =
        owners.flatMap(owner => Seq(new Attack(owner, "connect", noise(100)), new Attack(owner, "flood", Nil)))
      var jobs = 0
      while (jobs == 0 || attacks.exists(_.isUnderWay)) {
        assertSums(sc)
        jobs += 1
      }
      val seen = attacks.map(_.figures())
      println(s"attack on ${owners.size} executors: ${seen.mkString("; ")}; jobs beside it: $jobs, all right")
      assert(
        seen.forall(figures => figures.gotIn == 0 && figures.refused == figures.tried && figures.tried >= 100),
        seen
      )
      assertAllByRdma()
  }

  /** Private data of a connection, a line each: none, zeros, and as many others as asked for. */
  private def noise(lines: Int): Seq[String] = {
    val random = new Random(7)
    Seq("-", "00" * 56) ++ Seq.fill(lines)(HexFormat.of().formatHex(random.nextBytes(56)))
  }

  private case class Figures(tried: Int, gotIn: Int, refused: Int)

  /** A process of native/src/test/c/attacker. */
  private class Attack(target: InetSocketAddress, kind: String, lines: Seq[String]) {
    private val input = Files.write(Files.createTempFile("attack", ""), lines.asJava, US_ASCII)
    private val output = Files.createTempFile("attack", "")
    private val process = new ProcessBuilder(
      Path.of("../native/target/native/src/test/c/attacker").toAbsolutePath.toString,
      target.getAddress.getHostAddress,
      target.getPort.toString,
      kind,
      "1024"
    ).redirectInput(input.toFile).redirectOutput(output.toFile).redirectError(Redirect.INHERIT).start()

    def isUnderWay: Boolean = process.isAlive

    def figures(): Figures = {
      assert(process.waitFor() == 0, s"the attack by $kind failed")
      val numbers = "\\d+".r.findAllIn(Files.readString(output)).map(_.toInt).toIndexedSeq
      Figures(tried = numbers(0), gotIn = numbers(1), refused = numbers(2))
    }
  }
}
