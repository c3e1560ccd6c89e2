package io.rdmashuffle.integration.mapreduce

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.concurrent.atomic.AtomicInteger

import scala.io.Source
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.hadoop.mapreduce.{Job, JobCounter, TaskCounter}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.{Eventually, Signaler, ThreadSignaler, TimeLimits}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

/** Suites on a YARN cluster of two NodeManagers, each a process of its own, as every task is. They run on softverbs. */
trait YarnCluster extends AnyFunSuite with BeforeAndAfterAll with TimeLimits with Eventually {

  implicit val signaler: Signaler = ThreadSignaler

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(120.seconds, 500.millis)

  protected val root: Path = Path.of(sys.props("rdmashuffle.root")).toRealPath()

  /** Left behind with the logs, for whoever wants to know why. */
  protected val directory: Path = {
    val last = root.resolve(s"integration/mapreduce/target/yarn/$suiteName")
    deleteRecursively(last)
    Files.createDirectories(last)
  }

  private val faultsFile = directory.resolve("softverbs-faults")

  private val resources = Files.createDirectories(directory.resolve("softverbs-resources"))

  protected lazy val cluster = new MiniCluster(
    root,
    sys.props("rdmashuffle.classpath"),
    directory.resolve("cluster"),
    directory.resolve("logs"),
    "127.0.0.1",
    Map(
      "LD_LIBRARY_PATH" -> root.resolve("native/target/softverbs").toString,
      "SOFTVERBS_FAULTS_FILE" -> faultsFile.toString,
      "SOFTVERBS_RESOURCES" -> resources.toString
    ).asJava
  )

  /** Settings of each NodeManager, beside the common ones. */
  protected def nodes: Seq[Map[String, String]] = Seq(Map.empty, Map.empty)

  protected lazy val running: Seq[NodeManagerProcess] = {
    cluster.start()
    val started = nodes.map(settings => cluster.startNode("127.0.0.1", settings.asJava))
    cluster.awaitNodes()
    started
  }

  override def beforeAll(): Unit = assert(running.size == nodes.size)

  override def afterAll(): Unit = cluster.close()

  /** What a job that was run left behind. */
  class Ran(job: Job, output: HadoopPath) {

    def counter(name: String): Long = job.getCounters.findCounter("RDMA shuffle", name).getValue

    def shuffledBytes: Long = job.getCounters.findCounter(TaskCounter.REDUCE_SHUFFLE_BYTES).getValue

    def launchedMaps: Long = job.getCounters.findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue

    def launchedReduces: Long = job.getCounters.findCounter(JobCounter.TOTAL_LAUNCHED_REDUCES).getValue

    def failedMaps: Long = job.getCounters.findCounter(JobCounter.NUM_FAILED_MAPS).getValue

    def killedMaps: Long = job.getCounters.findCounter(JobCounter.NUM_KILLED_MAPS).getValue

    def failedShuffles: Long = job.getCounters.findCounter(TaskCounter.FAILED_SHUFFLE).getValue

    def fallbacks: Map[String, Long] = job.getCounters
      .getGroup("RDMA shuffle")
      .asScala
      .filter(_.getName.startsWith("FALLBACK_"))
      .map(counter => counter.getName.stripPrefix("FALLBACK_") -> counter.getValue)
      .toMap

    def isUber: Boolean = job.getStatus.isUber

    lazy val files: Map[String, Seq[Byte]] = filesOf(output)

    def assertAllByRdma(): Unit = {
      assert(shuffledBytes > 0)
      assert(counter("RDMA_BYTES") == shuffledBytes)
      assert(counter("HTTP_BYTES") == 0)
      assert(fallbacks.isEmpty)
    }
  }

  val required: (String, String) = "mapreduce.shuffle.rdma.mode" -> "required"

  /** Settings of a job with Hadoop's shuffle. */
  def stock(wanted: (String, String)*): Configuration = set(cluster.jobSettings(), wanted)

  /** Settings of a job with ours. */
  def ours(wanted: (String, String)*): Configuration = set(cluster.ourJobSettings(), wanted)

  private def set(conf: Configuration, wanted: Seq[(String, String)]): Configuration = {
    wanted.foreach { case (name, value) => conf.set(name, value) }
    conf
  }

  private val outputs = new AtomicInteger

  /** Runs a job to its end; it must succeed. */
  def run(make: (Configuration, HadoopPath) => Job, conf: Configuration): Ran = run(make, conf, _ => ())

  /** The same with something to do while it runs. */
  def run(make: (Configuration, HadoopPath) => Job, conf: Configuration, meanwhile: Job => Unit): Ran =
    failAfter(6.minutes) {
      val output = path(s"output${outputs.incrementAndGet()}")
      val job = make(conf, output)
      job.submit()
      meanwhile(job)
      assert(job.waitForCompletion(false), s"${job.getJobName}: ${job.getStatus.getFailureInfo}")
      new Ran(job, output)
    }

  def path(name: String): HadoopPath = new HadoopPath(directory.resolve(name).toUri)

  /** Name to bytes of each file of an output. */
  def filesOf(output: HadoopPath): Map[String, Seq[Byte]] = {
    val parts = Files.list(Path.of(output.toUri.getPath))
    try
      parts.iterator.asScala
        .filter(_.getFileName.toString.startsWith("part-"))
        .map(part => part.getFileName.toString -> Files.readAllBytes(part).toSeq)
        .toMap
    finally parts.close()
  }

  /** Deterministic text of so many lines a file. */
  def text(files: Int, lines: Int): HadoopPath = {
    for (file <- 0 until files)
      this.lines("text", (0 until lines).map(line => s"word${(line * 7919 + file) % 4001} word${line % 13} file$file"))
    path("text")
  }

  /** One more file of a directory. */
  def lines(name: String, content: Seq[String]): HadoopPath = {
    val folder = Files.createDirectories(directory.resolve(name))
    Files.write(Files.createTempFile(folder, "part", ".txt"), content.asJava)
    path(name)
  }

  /** What softverbs does wrong from now on, in each process that reads. */
  def inject(script: String): Unit = {
    val next = Files.writeString(directory.resolve("faults.next"), script)
    Files.move(next, faultsFile, StandardCopyOption.ATOMIC_MOVE)
  }

  /** One of a NodeManager's metrics, as its page tells it. */
  def metric(node: NodeManagerProcess, name: String): Long = {
    val page = Source.fromURL(s"http://${node.webAddress}/jmx?qry=Hadoop:service=NodeManager,name=RdmaShuffle")
    try new ObjectMapper().readTree(page.mkString).path("beans").path(0).path(name).asLong(-1)
    finally page.close()
  }

  /** PDs, CQs, QPs, cm_ids and MRs of a NodeManager, as softverbs counts them. */
  def verbsObjects(node: NodeManagerProcess): Seq[Int] = {
    val counts =
      ByteBuffer.wrap(Files.readAllBytes(resources.resolve(node.pid.toString))).order(ByteOrder.nativeOrder())
    Seq.fill(5)(counts.getInt())
  }

  def queuePairs(node: NodeManagerProcess): Int = verbsObjects(node)(2)

  def mappings(node: NodeManagerProcess): String = Files.readString(Path.of(s"/proc/${node.pid}/maps"))

  /** Names as the kernel keeps them: 15 characters. */
  def threads(node: NodeManagerProcess): Seq[String] = {
    val tasks = Files.list(Path.of(s"/proc/${node.pid}/task"))
    try tasks.iterator.asScala.map(task => Files.readString(task.resolve("comm")).trim).toSeq
    finally tasks.close()
  }

  /** The jobs have ended; a NodeManager learns of it a little later. */
  def assertNothingLeft(): Unit = eventually {
    for (node <- running) {
      assert(metric(node, "Jobs") == 0)
      assert(metric(node, "RegisteredBytes") == 0)
      assert(verbsObjects(node).forall(_ == 0), node.log)
      assert(!mappings(node).contains("file.out"))
      assert(!threads(node).exists(_.startsWith("rdma-shuffle-lo")))
    }
  }

  private def deleteRecursively(path: Path): Unit = if (Files.exists(path)) {
    val all = Files.walk(path)
    try all.sorted(java.util.Comparator.reverseOrder[Path]()).forEach(file => Files.delete(file))
    finally all.close()
  }
}
