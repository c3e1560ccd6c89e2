package io.rdmashuffle.integration

import java.net.{ServerSocket, URI}
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit

import scala.sys.process._
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.rdmashuffle.SparkInternals
import org.scalatest.concurrent.Eventually._
import org.scalatest.time.SpanSugar._

/** The tab "RDMA Shuffle", live, from the event log in a history server, and in a browser. */
class UiSuite extends RealCluster {

  private val eventLogs = Files.createTempDirectory(Files.createDirectories(Path.of("target")), "event-logs")

  clusterTest(
    "the tab shows transport, bytes and fallbacks, live and in the history server",
    required,
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0",
    "spark.eventLog.enabled" -> "true",
    "spark.eventLog.compress" -> "false",
    "spark.eventLog.dir" -> eventLogs.toUri.toString
  ) { sc =>
    assertSums(sc)
    assertAllByRdma()
    SparkInternals.drainListeners(sc)
    val bytes = report().rdmaBytes
    assertShows(sc.uiWebUrl.get, bytes)
    inBrowser(s"${sc.uiWebUrl.get}/rdma-shuffle/", "ui-live.png")

    val id = sc.applicationId
    sc.stop()
    withHistoryServer { url =>
      eventually(timeout(60.seconds), interval(500.millis))(assertShows(s"$url/history/$id", bytes))
    }
  }

  clusterTest(
    "the tab names the reason of an executor without RDMA",
    noDevice,
    "spark.ui.enabled" -> "true",
    "spark.ui.port" -> "0"
  ) { sc =>
    assertSums(sc)
    val page = get(s"${sc.uiWebUrl.get}/rdma-shuffle/")
    assert(page.contains("0 of 2 executors have RDMA"))
    assert(page.contains("tcp, no RDMA device"))
    assert(page.contains("<td>UNAVAILABLE</td>"))
  }

  private def assertShows(ui: String, rdmaBytes: Long): Unit = {
    val page = get(s"$ui/rdma-shuffle/")
    assert(page.contains("2 of 2 executors have RDMA"), page)
    assert(page.contains("rdma, softverbs0"))
    val json: JsonNode = new ObjectMapper().readTree(get(s"$ui/rdma-shuffle/json/"))
    val moments = json.get("moments")
    assert(moments.get(moments.size - 1).get("sums").get("rdmaBytes").asLong == rdmaBytes)
  }

  private def get(url: String): String = {
    val client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.ALWAYS).build()
    client.send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString()).body()
  }

  /** The page has no script of ours to fail; that a browser draws its chart and tables is worth a look all the same. */
  private def inBrowser(url: String, picture: String): Unit = {
    assume(Try("chromium --version".!!).isSuccess, "no chromium on this machine")
    val to = Path.of("target", picture)
    val profile = Files.createTempDirectory("chromium")
    val browser =
      Seq("timeout", "60", "chromium", "--headless", "--no-sandbox", "--disable-gpu", s"--user-data-dir=$profile")
    val dom = (browser ++ Seq("--dump-dom", url)).!!
    assert(dom.contains("<polyline") && dom.contains("<h4>Executors</h4>"))
    (browser ++ Seq("--window-size=1280,900", s"--screenshot=${to.toAbsolutePath}", url)).!!
    assert(Files.size(to) > 10000)
  }

  private def withHistoryServer(body: String => Unit): Unit = {
    val port = Using.resource(new ServerSocket(0))(_.getLocalPort)
    val server = new java.lang.ProcessBuilder(
      s"${System.getProperty("java.home")}/bin/java",
      s"-Dspark.history.fs.logDirectory=${eventLogs.toUri}",
      s"-Dspark.history.ui.port=$port",
      "-Dspark.history.fs.update.interval=1s",
      "org.apache.spark.deploy.history.HistoryServer"
    )
    server.environment().put("CLASSPATH", System.getProperty("java.class.path"))
    val process = server.redirectErrorStream(true).redirectOutput(Path.of("target/history-server.log").toFile).start()
    try body(s"http://localhost:$port")
    finally {
      process.destroy()
      process.waitFor(10, TimeUnit.SECONDS)
    }
  }
}
