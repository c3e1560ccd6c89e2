package io.rdmashuffle.integration

import java.net.URI
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.rdmashuffle.SparkInternals
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

/** What operators see: Spark's metric system and Spark's own task metrics. */
class MetricsSuite extends RealCluster {

  private val csv = Files.createDirectories(Path.of("target/metrics-csv"))

  clusterTest(
    "the driver's metrics have the bytes of all executors and each executor has its own",
    required,
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0",
    "spark.metrics.namespace" -> "metrics",
    "spark.metrics.conf.executor.sink.csv.class" -> "org.apache.spark.metrics.sink.CsvSink",
    "spark.metrics.conf.executor.sink.csv.period" -> "1",
    "spark.metrics.conf.executor.sink.csv.directory" -> csv.toAbsolutePath.toString,
    "spark.metrics.conf.driver.sink.prometheusServlet.class" -> "org.apache.spark.metrics.sink.PrometheusServlet",
    "spark.metrics.conf.driver.sink.prometheusServlet.path" -> "/metrics/prometheus"
  ) { sc =>
    assertSums(sc)
    assertAllByRdma()
    val bytes = report().rdmaBytes

    def get(path: String) = HttpClient
      .newHttpClient()
      .send(HttpRequest.newBuilder(URI.create(sc.uiWebUrl.get + path)).build(), HttpResponse.BodyHandlers.ofString())
      .body()
    assert(get("/metrics/prometheus/").contains(s"rdmaShuffle_rdmaBytes_Number{type=\"gauges\"} $bytes"))
    assert(get("/metrics/json/").contains("rdmaShuffle.readLatencyMicros.p99"))

    def ofExecutor(id: String, metric: String) =
      Files.readAllLines(csv.resolve(s"metrics.$id.rdmaShuffle.$metric.csv")).asScala.last.split(",")(1).toLong
    eventually(timeout(20.seconds), interval(200.millis)) {
      assert(Seq("0", "1").map(ofExecutor(_, "rdmaBytes")).sum == bytes)
    }
    assert(Seq("0", "1").forall(ofExecutor(_, "readLatencyMicros.p50") > 0))
    assert(Seq("0", "1").forall(ofExecutor(_, "sinkPoolBytes") > 0))
  }

  clusterTest("Spark's task metrics count remote blocks and bytes read over RDMA as remote", required) { sc =>
    val read = new ShuffleReads
    sc.addSparkListener(read)
    assertSums(sc)
    SparkInternals.drainListeners(sc)
    assertAllByRdma()
    assert(read.remoteBytes == report().rdmaBytes)
    assert(read.remoteBlocks == report().rdmaBlocks)
    assert(read.records == 2000 * 20)
  }

  private final class ShuffleReads extends SparkListener {
    var remoteBytes, remoteBlocks, records = 0L

    override def onTaskEnd(end: SparkListenerTaskEnd): Unit = {
      val metrics = end.taskMetrics.shuffleReadMetrics
      remoteBytes += metrics.remoteBytesRead
      remoteBlocks += metrics.remoteBlocksFetched
      records += metrics.recordsRead
    }
  }
}
