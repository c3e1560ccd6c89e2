package io.rdmashuffle.integration

import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.{FetchFailed, ShuffleDependency, SparkConf, SparkContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.rdmashuffle.SparkInternals
import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.{Row, SparkSession}
import org.scalatest.time.SpanSugar._

/** Suites that show a feature of Spark twice: the job runs under Spark's own sort shuffle in this JVM, then under ours
  * on a cluster, and both results are compared row by row.
  */
trait FeatureSuite extends RealCluster {

  type Job = SparkSession => Seq[Row]

  /** A test on a cluster of its own: where the rows are equal, the check says by which way they must have come. */
  def featureTest(name: String, settings: (String, String)*)(job: Job)(check: => Unit): Unit =
    test(name)(failAfter(3.minutes) {
      val expected = FeatureSuite.bySortShuffle(job)
      withCluster(settings: _*) { sc =>
        assertSame(expected, job(FeatureSuite.session(sc)))
        check
      }
    })

  /** A test of what happens between a shuffle's writing and its reading. */
  def shuffleTest(name: String, settings: (String, String)*)(body: (SparkContext, Shuffled) => Unit): Unit =
    test(name)(failAfter(3.minutes)(withShuffled(settings: _*)(body)))

  def withShuffled(settings: (String, String)*)(body: (SparkContext, Shuffled) => Unit): Unit = {
    val expected = FeatureSuite.bySortShuffle(FeatureSuite.squares)
    withCluster(settings: _*) { sc =>
      body(sc, new Shuffled(FeatureJobs.shuffled(FeatureSuite.session(sc), FeatureSuite.partitions), expected))
    }
  }

  /** Pairs that were shuffled once and can be read again and again. */
  final class Shuffled(val rdd: RDD[(Int, Long)], expected: Seq[Row]) {
    val id: Int = rdd.dependencies.head.asInstanceOf[ShuffleDependency[_, _, _]].shuffleId

    def assertRows(read: RDD[(Int, Long)] = rdd): Unit = assertSame(expected, FeatureSuite.rows(read))
  }

  /** The messages of the fetch failures from now on. */
  final class FetchFailures(sc: SparkContext) extends SparkListener {
    private val seen = new ConcurrentLinkedQueue[String]
    sc.addSparkListener(this)

    override def onTaskEnd(end: SparkListenerTaskEnd): Unit = end.reason match {
      case failed: FetchFailed => seen.add(failed.message)
      case _                   =>
    }

    def messages: Seq[String] = {
      SparkInternals.drainListeners(sc)
      seen.asScala.toSeq
    }
  }

  def assertSame(expected: Seq[Row], actual: Seq[Row]): Unit = {
    assert(expected.nonEmpty, "a job that gives no rows shows nothing")
    val difference = RowDifference.first(FeatureSuite.columns(expected), FeatureSuite.columns(actual), false)
    assert(!difference.isPresent, difference)
  }

  /** Runs the body with these settings of the session, which are the former ones afterwards. */
  def withSql[T](spark: SparkSession, settings: (String, String)*)(body: => T): T = {
    val before = settings.map { case (name, _) => name -> spark.conf.getOption(name) }
    settings.foreach { case (name, value) => spark.conf.set(name, value) }
    try body
    finally
      before.foreach {
        case (name, Some(value)) => spark.conf.set(name, value)
        case (name, None)        => spark.conf.unset(name)
      }
  }
}

object FeatureSuite {

  private val partitions = 6

  private val squares: SparkSession => Seq[Row] = spark => rows(FeatureJobs.shuffled(spark, partitions))

  def rows(rdd: RDD[(Int, Long)]): Seq[Row] = rdd.collect().map(Row.fromTuple).toSeq

  private val byJob = mutable.Map.empty[AnyRef, Seq[Row]]

  /** What the job gives under the sort shuffle; asked once for each job object. No context may be running. */
  def bySortShuffle(job: SparkSession => Seq[Row]): Seq[Row] = byJob.getOrElseUpdate(job, withSortShuffle(job))

  /** The same for several jobs in one context. */
  def allBySortShuffle(jobs: Iterable[SparkSession => Seq[Row]]): Unit =
    withSortShuffle(spark => jobs.foreach(job => byJob.getOrElseUpdate(job, job(spark))))

  def session(sc: SparkContext): SparkSession = SparkSession.builder().config(sc.getConf).getOrCreate()

  private def withSortShuffle[T](body: SparkSession => T): T = {
    val conf =
      new SparkConf(false).setMaster("local[2]").setAppName("sort shuffle").set("spark.shuffle.manager", "sort")
    val sc = new SparkContext(conf)
    try body(session(sc))
    finally sc.stop()
  }

  private def columns(rows: Seq[Row]): java.util.List[java.util.List[AnyRef]] =
    rows.map(row => row.toSeq.map(_.asInstanceOf[AnyRef]).asJava).asJava
}
