package io.rdmashuffle.integration.yarn

import java.io.File
import java.net.ServerSocket
import java.nio.file.{Files, Path}
import java.util.Properties
import java.util.concurrent.TimeUnit

import scala.jdk.CollectionConverters._

import io.rdmashuffle.integration.mapreduce.YarnCluster
import org.scalatest.time.SpanSugar._

/** Spark on YARN as docs/quick-start.md sets it up, with the shuffle service in the NodeManager. */
class SparkOnYarnSuite extends YarnCluster {

  private val version = sys.props("rdmashuffle.version")

  private val plugin = root.resolve(s"shuffle-manager/spark/target/rdma-shuffle-spark-$version.jar")

  private val jobs = root.resolve(s"integration/mapreduce/target/rdma-shuffle-integration-mapreduce-$version.jar")

  private val servicePort = freePort()

  /** What Spark's own yarn-shuffle jar holds. */
  private lazy val serviceLibraries: Seq[String] = {
    submit("--version") // fetches Spark
    val parts = Seq("spark-network-", "spark-common-utils", "netty-", "jackson-", "metrics-core", "log4j-api") ++
      Seq("rocksdbjni", "leveldbjni", "commons-lang3", "commons-crypto", "tink", "guava", "failureaccess")
    new File(s"$root/integration/target/spark-home-4.2.0/jars").listFiles.toSeq
      .filter(jar => parts.exists(jar.getName.startsWith))
      .map(_.getPath)
  }

  override protected def nodes: Seq[Map[String, String]] = Seq(
    Map(
      "yarn.nodemanager.aux-services" -> "spark_shuffle",
      "yarn.nodemanager.aux-services.spark_shuffle.class" -> "io.rdmashuffle.spark.yarn.RdmaYarnShuffleService",
      "yarn.nodemanager.aux-services.spark_shuffle.classpath" -> (plugin.toString +: serviceLibraries).mkString(":"),
      "spark.shuffle.service.port" -> servicePort.toString,
      "spark.authenticate" -> "true"
    )
  )

  private val rdmaRequired = Map(
    "spark.shuffle.manager" -> "io.rdmashuffle.spark.RdmaShuffleManager",
    "spark.shuffle.rdma.mode" -> "required"
  )

  test(
    "map outputs of executors that have left are read from the NodeManager's memory, with the sort shuffle's answers"
  ) {
    val sort = release(Map("spark.shuffle.manager" -> "sort"))
    val rdma = release(rdmaRequired)
    assert(rdma("sums") == sort("sums"))
    assert(rdma("writers") != "[]" && rdma("readers") != "[]", rdma)
    assert(rdma("mapTasksAgain") == "0")
    assert(rdma("rdmaBytes").toLong > 0, rdma)
    assert(rdma("tcpBytes") == "0", rdma)
    assert(rdma("fallbacks") == "{}", rdma)
  }

  /** Runs the job with the plugin in `--jars`, and gives back what it saw. */
  private def release(settings: Map[String, String]): Map[String, String] = failAfter(4.minutes) {
    val seen = Files.createTempFile(directory, "seen", ".properties")
    val all = Map(
      "spark.authenticate" -> "true",
      "spark.dynamicAllocation.enabled" -> "true",
      "spark.dynamicAllocation.initialExecutors" -> "2",
      "spark.dynamicAllocation.executorIdleTimeout" -> "1s",
      "spark.shuffle.service.enabled" -> "true",
      "spark.shuffle.service.port" -> servicePort.toString,
      "spark.shuffle.readHostLocalDisk" -> "false",
      "spark.driver.host" -> "127.0.0.1",
      "spark.executor.memory" -> "512m",
      "spark.executor.memoryOverhead" -> "128m",
      "spark.yarn.am.memory" -> "256m",
      "spark.yarn.am.memoryOverhead" -> "128m",
      "spark.yarn.stagingDir" -> directory.toUri.toString,
      "spark.executorEnv.LD_LIBRARY_PATH" -> root.resolve("native/target/softverbs").toString,
      "spark.executor.extraJavaOptions" -> "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
      "spark.ui.enabled" -> "false"
    ) ++ settings
    val conf = all.toSeq.flatMap { case (name, value) => Seq("--conf", s"$name=$value") }
    submit(
      Seq("--master", "yarn", "--jars", plugin.toString) ++ conf ++
        Seq("--class", "io.rdmashuffle.integration.yarn.ReleasedExecutorsJob", jobs.toString, seen.toString): _*
    )
    val properties = new Properties
    val in = Files.newInputStream(seen)
    try properties.load(in)
    finally in.close()
    properties.asScala.toMap
  }

  /** spark-submit of a Spark from Maven, told of this cluster by yarn-site.xml. */
  private def submit(arguments: String*): Unit = {
    val log = directory.resolve("spark-submit.log")
    val command = Seq(root.resolve("integration/spark-submit.sh").toString, "4.2") ++ arguments
    val builder = new ProcessBuilder(command.asJava)
    builder.environment.put("HADOOP_CONF_DIR", clientSettings.toString)
    builder.environment.put("SPARK_LOCAL_IP", "127.0.0.1")
    builder.redirectErrorStream(true)
    builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile))
    val process = builder.start()
    try assert(process.waitFor(230, TimeUnit.SECONDS) && process.exitValue == 0, s"see $log")
    finally process.destroy()
  }

  private lazy val clientSettings: Path = {
    val folder = Files.createDirectories(directory.resolve("conf"))
    val settings = cluster.jobSettings()
    // of classes that are not on Spark's class path
    Seq("fs.file.impl", "fs.AbstractFileSystem.file.impl").foreach(settings.unset)
    for (file <- Seq("core-site.xml", "yarn-site.xml")) {
      val out = Files.newOutputStream(folder.resolve(file))
      try settings.writeXml(out)
      finally out.close()
    }
    folder
  }

  private def freePort(): Int = {
    val socket = new ServerSocket(0)
    try socket.getLocalPort
    finally socket.close()
  }
}
