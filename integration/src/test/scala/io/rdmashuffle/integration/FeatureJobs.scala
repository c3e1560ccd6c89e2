package io.rdmashuffle.integration

import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.serializer.{JavaSerializer, KryoSerializer, Serializer}
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.{HashPartitioner, RangePartitioner}

/** Jobs that several suites run. */
object FeatureJobs {

  /** A record that only a serializer of objects can carry. */
  case class Reading(sensor: Int, values: Seq[Double], note: Option[String])

  /** One of each kind of shuffle: partitioned, grouped, joined, sorted, aggregated on both sides; and a query. */
  val mixed: SparkSession => Seq[Row] = { spark =>
    val query = spark.range(0, 5000, 1, 4).selectExpr("id % 100 as k", "id").groupBy("k").sum("id")
    records("Java")(spark) ++ query.collect().map(row => Row("query", row.getLong(0), row.getLong(1)))
  }

  def records(serializer: String): SparkSession => Seq[Row] = { spark =>
    val sc = spark.sparkContext
    val by: Serializer = if (serializer == "Kryo") new KryoSerializer(sc.getConf) else new JavaSerializer(sc.getConf)
    val readings = sc.parallelize(0 until 4000, 4).map { i =>
      (i % 200, Reading(i, Seq.tabulate(i % 5)(_ / 8.0), Some(s"reading $i").filter(_ => i % 3 == 0)))
    }
    val partitioned = new ShuffledRDD[Int, Reading, Reading](readings, new HashPartitioner(3)).setSerializer(by)
    val grouped = readings.groupByKey(3).mapValues(_.map(_.sensor.toLong).sum)
    val joined = grouped.join(readings.mapValues(_.values.sum).reduceByKey(_ + _, 5), 4)
    val sorted = new ShuffledRDD[Int, Reading, Reading](readings, new RangePartitioner(3, readings))
      .setSerializer(by)
      .setKeyOrdering(implicitly[Ordering[Int]])
    partitioned.map { case (k, r) => Row("partitioned", k, r.toString) }.collect().toSeq ++
      joined.map { case (k, (sum, total)) => Row("joined", k, s"$sum $total") }.collect() ++
      sorted.keys.zipWithIndex().map { case (k, i) => Row("sorted", k, i.toString) }.collect()
  }

  /** Every number from 0 until 2000 with its square, shuffled by hash. */
  def shuffled(spark: SparkSession, partitions: Int): RDD[(Int, Long)] =
    spark.sparkContext
      .parallelize(0 until 2000, 6)
      .map(i => (i, i.toLong * i))
      .partitionBy(new HashPartitioner(partitions))
}
