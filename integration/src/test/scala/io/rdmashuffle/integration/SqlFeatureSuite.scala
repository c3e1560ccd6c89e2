package io.rdmashuffle.integration

import java.nio.file.{Files, Path}

import scala.collection.mutable

import org.apache.spark.{BarrierTaskContext, HashPartitioner, SparkContext}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.BeforeAndAfterAll
import org.scalatest.time.SpanSugar._

/** The features that need no setting at the start of the application, one after another on one cluster. */
class SqlFeatureSuite extends FeatureSuite with BeforeAndAfterAll {

  private val jobs = mutable.Buffer.empty[Job]
  private var sc: SparkContext = _

  override def beforeAll(): Unit = {
    super.beforeAll()
    FeatureSuite.allBySortShuffle(jobs)
    // FORK: what an executor starts, it starts by a plain fork, whose child has the executor's memory
    sc = startCluster(
      required,
      "spark.locality.wait" -> "0",
      "spark.executor.extraJavaOptions" -> s"$shortLived -Djdk.lang.Process.launchMechanism=FORK"
    )
  }

  override def afterAll(): Unit =
    try if (sc != null) sc.stop()
    finally super.afterAll()

  private def feature(name: String)(job: Job): Unit = {
    jobs += job
    test(name)(failAfter(2.minutes) {
      val before = report().rdmaBytes
      assertSame(FeatureSuite.bySortShuffle(job), job(FeatureSuite.session(sc)))
      assert(report().rdmaBytes > before)
      assertAllByRdma()
    })
  }

  /** Ids from 0 until count, of which the first half has key 0 and the rest the keys 1 to 99. */
  private def skewed(spark: SparkSession, count: Int): DataFrame =
    spark
      .range(0, count, 1, 6)
      .select(
        when(col("id") < count / 2, 0).otherwise(col("id") % 99 + 1).as("key"),
        col("id"),
        sha2(col("id").cast("string"), 256).as("text")
      )

  /** The rows of a query, whose plan at the end must say that the feature was used. */
  private def rowsOf(query: DataFrame, planSays: String): Seq[Row] = {
    val rows = query.collect().toSeq
    val plan = query.queryExecution.executedPlan.toString
    assert(plan.contains(planSays), plan)
    rows
  }

  feature("AQE coalesces small partitions") { spark =>
    withSql(spark, "spark.sql.shuffle.partitions" -> "40") {
      rowsOf(skewed(spark, 20000).groupBy("key").agg(count("*"), max("text"), sum("id")), "coalesced")
    }
  }

  private val coalesced: Job = { spark =>
    withSql(
      spark,
      "spark.sql.shuffle.partitions" -> "40",
      "spark.sql.adaptive.coalescePartitions.parallelismFirst" -> "false"
    )(rowsOf(skewed(spark, 20000).repartition(col("key")).groupBy("key").agg(sum("id")), "coalesced"))
  }

  private val oneByOne: Job = { spark =>
    withSql(spark, "spark.sql.adaptive.fetchShuffleBlocksInBatch" -> "false")(coalesced(spark))
  }

  feature("adjacent partitions arrive in batches")(coalesced)

  feature("adjacent partitions arrive one by one without batch fetch")(oneByOne)

  test("a batch is one block") {
    def blocksOf(job: Job) = {
      val before = report().rdmaBlocks
      job(FeatureSuite.session(sc))
      report().rdmaBlocks - before
    }
    val (batches, single) = (blocksOf(coalesced), blocksOf(oneByOne))
    assert(batches > 0 && single > 2 * batches)
  }

  feature("AQE splits a skewed partition by maps") { spark =>
    withSql(
      spark,
      "spark.sql.shuffle.partitions" -> "8",
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.skewJoin.skewedPartitionFactor" -> "2",
      "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes" -> "100000",
      "spark.sql.adaptive.advisoryPartitionSizeInBytes" -> "100000"
    ) {
      val right = spark.range(0, 100, 1, 3).select(col("id").as("key"), (col("id") * 7).as("other"))
      rowsOf(skewed(spark, 20000).join(right, "key"), "skewed")
    }
  }

  feature("AQE reads a shuffle locally, by maps, when its join turns out small") { spark =>
    withSql(
      spark,
      "spark.sql.shuffle.partitions" -> "8",
      "spark.sql.autoBroadcastJoinThreshold" -> "-1",
      "spark.sql.adaptive.autoBroadcastJoinThreshold" -> "100000"
    ) {
      val small = skewed(spark, 1000).where(col("id") % 7 === 0).select(col("key"), col("id").as("other"))
      val joined = skewed(spark, 20000).join(small, "key").groupBy("text").agg(sum("other"))
      rowsOf(joined, "local")
    }
  }

  for (serializer <- Seq("Java", "Kryo"))
    feature(s"records of the $serializer serializer are grouped, joined, sorted and aggregated") { spark =>
      FeatureJobs.records(serializer)(spark)
    }

  feature("a barrier stage reads a shuffle while all its tasks run at once") { spark =>
    FeatureJobs
      .shuffled(spark, partitions = 2)
      .barrier()
      .mapPartitions { rows =>
        val mine = rows.toSeq
        BarrierTaskContext.get().barrier()
        mine.iterator
      }
      .collect()
      .map(Row.fromTuple)
      .toSeq
  }

  feature("hundreds of small map outputs on each executor") { spark =>
    val grouped = spark.sparkContext.parallelize(0 until 3000, 500).map(i => (i % 40, i.toLong)).groupByKey(4)
    grouped.mapValues(_.sum).collect().map(Row.fromTuple).toSeq
  }

  feature("micro-batches of a stream keep their state across shuffles") { spark =>
    val input = Files.createTempDirectory("stream-in")
    for (file <- 0 until 3) {
      val lines = (0 until 400).map(i => s"${(i * 31 + file) % 17}").mkString("\n")
      Files.writeString(Files.createFile(input.resolve(s"part-$file.txt")), lines)
    }
    withSql(spark, "spark.sql.shuffle.partitions" -> "2")(countByBatches(spark, input))
  }

  private def countByBatches(spark: SparkSession, input: Path): Seq[Row] = {
    val words = spark.readStream.option("maxFilesPerTrigger", "1").text(input.toString)
    val query = words
      .groupBy("value")
      .count()
      .writeStream
      .format("memory")
      .queryName("counts")
      .outputMode("complete")
      .option("checkpointLocation", Files.createTempDirectory("stream-state").toString)
      .trigger(Trigger.AvailableNow())
      .start()
    query.awaitTermination()
    assert(query.recentProgress.count(_.numInputRows > 0) == 3)
    spark.table("counts").collect().toSeq
  }

  feature("processes forked by tasks while READs are under way do no harm") { spark =>
    // 2 tasks at a time on each side: while one forks and feeds its child, the other reads
    val blocks = spark.sparkContext
      .parallelize(0 until 64, 8)
      .map(i => (i, Array.fill(1 << 16)((i + 32).toByte)))
      .partitionBy(new HashPartitioner(8))
    val piped = blocks.mapPartitions(_.map { case (i, bytes) => s"$i ${new String(bytes, "US-ASCII").hashCode}" })
    piped.pipe("sort").pipe("cat").collect().map(Row(_)).toSeq
  }
}
