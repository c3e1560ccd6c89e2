package io.rdmashuffle.integration

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}
import java.util.{Base64, HexFormat}

import scala.jdk.CollectionConverters._

import io.rdmashuffle.core.directory.{Message, MessageCodec}

/** A run with everything logged: what opens memory or connections is nowhere to be found. */
class SecretsSuite extends RealCluster {

  test("no secret and no key to memory shows in logs, event log, metrics, environments or command lines") {
    failAfter(limit)(searchOneRun())
  }

  private val limit = org.scalatest.time.Span(4, org.scalatest.time.Minutes)

  private def searchOneRun(): Unit = {
    val run = Files.createTempDirectory(Files.createDirectories(Path.of("target").toAbsolutePath), "secrets")
    val logging = Files.writeString(
      run.resolve("log4j2.properties"),
      """rootLogger.level = debug
        |rootLogger.appenderRef.stderr.ref = stderr
        |appender.stderr.type = Console
        |appender.stderr.name = stderr
        |appender.stderr.target = SYSTEM_ERR
        |appender.stderr.layout.type = PatternLayout
        |appender.stderr.layout.pattern = %d %p %c: %m%n%ex
        |""".stripMargin
    )
    Files.createDirectories(run.resolve("events"))
    Files.createDirectories(run.resolve("metrics"))
    val cluster = new StandaloneCluster(java.util.List.of("127.0.0.1", "127.0.0.2"), 1024, run.resolve("work").toString)
    val needles =
      try
        withCluster(
          required,
          "spark.master" -> cluster.url,
          "spark.authenticate" -> "false",
          "spark.executor.memory" -> "1g",
          "spark.executor.extraJavaOptions" -> s"$shortLived -Dlog4j2.configurationFile=$logging",
          "spark.eventLog.enabled" -> "true",
          "spark.eventLog.compress" -> "false",
          "spark.eventLog.dir" -> run.resolve("events").toUri.toString,
          "spark.metrics.conf.*.sink.csv.class" -> "org.apache.spark.metrics.sink.CsvSink",
          "spark.metrics.conf.*.sink.csv.period" -> "1",
          "spark.metrics.conf.*.sink.csv.directory" -> run.resolve("metrics").toString
        ) { sc =>
          val grouped = pairs(sc, 500, 10, 4).groupByKey(3)
          grouped.count()
          assertAllByRdma()
          Files.writeString(run.resolve("processes"), processes())
          Files.writeString(run.resolve("report"), report().toString)
          val needles = secrets()
          grouped.count() // keeps the shuffle until here
          needles
        }
      finally cluster.close()
    search(run, needles)
  }

  /** The application's secret, and the keys of one shuffle, in every way that somebody may print them. */
  private def secrets(): Seq[(String, String)] = {
    val directory = RealCluster.directory()
    val secret = RealCluster.field(directory, "secret").asInstanceOf[Array[Byte]]
    val hex = HexFormat.of().formatHex(secret)
    val table = MessageCodec
      .decode(directory.handle(MessageCodec.encode(new Message.Locate(0))))
      .asInstanceOf[Message.Locations]
      .outputs
    val outputs = table.rows.toArray.toSeq.map(table.location)
    assert(secret.length >= 16 && outputs.nonEmpty)
    val ofSecret = Seq(
      "the secret" -> new String(secret, ISO_8859_1),
      "the secret in hex" -> hex,
      "the secret in base64" -> Base64.getEncoder.encodeToString(secret).take(20),
      "the secret as a list" -> secret.take(8).mkString(", ")
    )
    val ofMemory = outputs.flatMap { output =>
      Seq(
        "an address" -> output.dataAddress.toString,
        "an address in hex" -> output.dataAddress.toHexString,
        "an rkey" -> output.dataRkey.toString,
        "an rkey, unsigned" -> Integer.toUnsignedString(output.dataRkey),
        "an rkey in hex" -> f"${output.dataRkey}%08x"
      )
    }
    // a short number may stand in a log for any reason
    ofSecret ++ ofMemory.filter(_._2.length >= 7)
  }

  private def processes(): String =
    ProcessHandle
      .allProcesses()
      .map(process => s"/proc/${process.pid}")
      .toList
      .asScala
      .flatMap(process => Seq("cmdline", "environ").map(file => Path.of(process, file)))
      .filter(Files.isReadable)
      .map(file => scala.util.Try(Files.readString(file, ISO_8859_1)).getOrElse(""))
      .mkString("\n")

  private def search(run: Path, needles: Seq[(String, String)]): Unit = {
    val files =
      Files.walk(run).iterator.asScala.filter(Files.isRegularFile(_)).filterNot(_.toString.endsWith(".jar")).toSeq
    val names = files.map(_.getFileName.toString)
    assert(names.count(_ == "stderr") == 2 && names.exists(_.endsWith(".csv")) && names.contains("processes"), names)
    val logs = files.filter(_.getFileName.toString == "stderr").map(Files.readString(_, ISO_8859_1))
    assert(logs.forall(_.contains(" DEBUG ")), "executors logged at DEBUG")
    for (file <- files; text = Files.readString(file, ISO_8859_1); (what, needle) <- needles)
      assert(!text.contains(needle), s"$what in $file")
  }
}
