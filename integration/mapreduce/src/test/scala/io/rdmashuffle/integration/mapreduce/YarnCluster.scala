package io.rdmashuffle.integration.mapreduce

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.hadoop.mapreduce.{Job, TaskCounter}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.{Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

/** Suites on a YARN cluster of two NodeManagers, each a process of its own, as every task is. They run on softverbs. */
trait YarnCluster extends AnyFunSuite with BeforeAndAfterAll with TimeLimits {

  implicit val signaler: Signaler = ThreadSignaler

  private val root = Path.of(sys.props("rdmashuffle.root")).toRealPath()

  /** Left behind with the logs, for whoever wants to know why. */
  protected val directory: Path = {
    val last = root.resolve(s"integration/mapreduce/target/yarn/$suiteName")
    deleteRecursively(last)
    Files.createDirectories(last)
  }

  protected val faultsFile: Path = directory.resolve("softverbs-faults")

  protected lazy val cluster = new MiniCluster(
    root,
    sys.props("rdmashuffle.version"),
    directory.resolve("cluster"),
    "127.0.0.1",
    Map(
      "LD_LIBRARY_PATH" -> root.resolve("native/target/softverbs").toString,
      "SOFTVERBS_FAULTS_FILE" -> faultsFile.toString
    ).asJava
  )

  /** Settings of each NodeManager, beside the common ones. */
  protected def nodes: Seq[Map[String, String]] = Seq(Map.empty, Map.empty)

  protected lazy val running: Seq[NodeManagerProcess] = {
    cluster.start()
    nodes.map(settings => cluster.startNode("127.0.0.1", settings.asJava))
  }

  override def beforeAll(): Unit = assert(running.size == nodes.size)

  override def afterAll(): Unit = cluster.close()

  /** What a job that was run left behind. */
  class Ran(job: Job, output: Path) {

    def counter(name: String): Long = job.getCounters.findCounter("RDMA shuffle", name).getValue

    def shuffledBytes: Long = job.getCounters.findCounter(TaskCounter.REDUCE_SHUFFLE_BYTES).getValue

    def failedShuffles: Long = job.getCounters.findCounter(TaskCounter.FAILED_SHUFFLE).getValue

    def fallbacks: Map[String, Long] = job.getCounters
      .getGroup("RDMA shuffle")
      .asScala
      .filter(_.getName.startsWith("FALLBACK_"))
      .map(counter => counter.getName.stripPrefix("FALLBACK_") -> counter.getValue)
      .toMap

    /** Name to bytes of each file. */
    lazy val files: Map[String, Seq[Byte]] = {
      val parts = Files.list(output)
      try
        parts.iterator.asScala
          .filter(_.getFileName.toString.startsWith("part-"))
          .map(part => part.getFileName.toString -> Files.readAllBytes(part).toSeq)
          .toMap
      finally parts.close()
    }

    def assertAllByRdma(): Unit = {
      assert(shuffledBytes > 0)
      assert(counter("RDMA_BYTES") == shuffledBytes)
      assert(counter("HTTP_BYTES") == 0)
      assert(fallbacks.isEmpty)
    }
  }

  val required: (String, String) = "mapreduce.shuffle.rdma.mode" -> "required"

  val ours: (String, String) =
    "mapreduce.job.reduce.shuffle.consumer.plugin.class" -> "io.rdmashuffle.mapreduce.RdmaShuffleConsumer"

  private var outputs = 0

  /** Runs a job to its end; it must succeed. */
  def run(make: (Configuration, HadoopPath) => Job, settings: (String, String)*): Ran = {
    outputs += 1
    val output = directory.resolve(s"output$outputs")
    val conf = cluster.jobSettings()
    settings.foreach { case (name, value) => conf.set(name, value) }
    failAfter(4.minutes) {
      val job = make(conf, new HadoopPath(output.toUri))
      assert(job.waitForCompletion(false), s"${job.getJobName}: ${job.getStatus.getFailureInfo}")
      new Ran(job, output)
    }
  }

  /** Deterministic text of so many lines a file. */
  def text(files: Int, lines: Int): HadoopPath = {
    val input = Files.createDirectories(directory.resolve(s"text-$files-$lines"))
    for (file <- 0 until files) {
      val words = (0 until lines).map(line => s"word${(line * 7919 + file) % 4001} word${line % 13} file$file")
      Files.write(input.resolve(s"part$file.txt"), words.asJava)
    }
    new HadoopPath(input.toUri)
  }

  private def deleteRecursively(path: Path): Unit = if (Files.exists(path)) {
    val all = Files.walk(path)
    try all.sorted(java.util.Comparator.reverseOrder[Path]()).forEach(file => Files.delete(file))
    finally all.close()
  }
}
