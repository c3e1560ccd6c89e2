package io.rdmashuffle.integration

import java.nio.file.Files

import io.rdmashuffle.core.directory.Directory
import io.rdmashuffle.spark.{ApplicationReport, RdmaShuffle, RdmaShuffleManager}
import org.apache.spark.{SparkConf, SparkContext, SparkEnv}
import org.apache.spark.rdmashuffle.SparkInternals
import org.scalatest.concurrent.{Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

/** Suites on a real cluster: this JVM is the driver, two more are the executors, and what one reads of the other
  * crosses the transport, as host-local reads are off. Executors run on softverbs, which the environment of the test
  * run puts on the library path.
  */
trait RealCluster extends AnyFunSuite with TimeLimits {

  implicit val signaler: Signaler = ThreadSignaler

  /** No RDMA device for executors, although the libraries are there. */
  val noDevice: (String, String) = "spark.executorEnv.SOFTVERBS_DEVICES" -> ""

  val required: (String, String) = "spark.shuffle.rdma.mode" -> "required"

  /** For JVMs that live for seconds. */
  val shortLived = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

  /** A test on a cluster of its own with our shuffle manager, which may take three minutes. */
  def clusterTest(name: String, settings: (String, String)*)(body: SparkContext => Unit): Unit =
    test(name)(failAfter(3.minutes)(withCluster(settings: _*)(body)))

  def withCluster[T](settings: (String, String)*)(body: SparkContext => T): T = {
    val sc = startCluster(settings: _*)
    try body(sc)
    finally sc.stop()
  }

  /** A cluster of two executors, unless the settings ask for more or none; the caller stops it. */
  def startCluster(settings: (String, String)*): SparkContext = {
    val conf = new SparkConf(false)
      .setMaster("local-cluster[2,1,1024]")
      .setAppName(suiteName)
      .set("spark.shuffle.manager", classOf[RdmaShuffleManager].getName)
      .set("spark.shuffle.readHostLocalDisk", "false")
      .set("spark.executor.extraJavaOptions", shortLived)
      .setAll(settings)
    val sc = new SparkContext(conf)
    try if (!conf.getBoolean("spark.dynamicAllocation.enabled", false)) SparkInternals.awaitExecutors(sc, 2)
    catch {
      case e: Throwable =>
        sc.stop()
        throw e
    }
    sc
  }

  /** The master of a cluster whose executors are on different hosts as far as Spark can tell. */
  def onTwoHosts[T](body: ((String, String)) => T): T = {
    val work = Files.createTempDirectory("workers").toString
    val cluster = new StandaloneCluster(java.util.List.of("127.0.0.1", "127.0.0.2"), 1024, work)
    try body("spark.master" -> cluster.url)
    finally cluster.close()
  }

  def report(): ApplicationReport = RdmaShuffle.report()

  def assertAllByRdma(): Unit = {
    val seen = report()
    assert(seen.rdmaBytes > 0, seen)
    assert(seen.tcpBytes == 0, seen)
    assert(seen.fallbacks.isEmpty, seen)
    assert(seen.executors.values.stream.allMatch(_.rdma), seen)
  }

  /** Pairs whose sums are known: every key from 0 until keys, with every value from 0 until perKey. */
  def pairs(sc: SparkContext, keys: Int, perKey: Int, slices: Int) =
    sc.parallelize(0 until keys * perKey, slices).map(i => (i % keys, (i / keys).toLong))

  def assertSums(sc: SparkContext, keys: Int = 2000, perKey: Int = 20): Unit = {
    val sums = pairs(sc, keys, perKey, 6).groupByKey(5).mapValues(_.sum).collect().toMap
    val sum = (0L until perKey.toLong).sum
    assert(sums == (0 until keys).map(_ -> sum).toMap)
  }
}

object RealCluster {

  /** The driver's directory of this process. */
  def directory(): Directory =
    field(field(SparkEnv.get.shuffleManager, "driverSide"), "directory").asInstanceOf[Directory]

  /** What no public way leads to. */
  def field(of: AnyRef, name: String): AnyRef = {
    val field = of.getClass.getDeclaredField(name)
    field.setAccessible(true)
    field.get(of)
  }

  /** What each executor says, asked by tasks. */
  def onExecutors[T](sc: SparkContext)(ask: () => T): Map[String, T] =
    sc.parallelize(0 until 8, 8)
      .mapPartitions(_.map(_ => SparkEnv.get.executorId -> ask()))
      .collect()
      .toMap
}
