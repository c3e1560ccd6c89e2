package io.rdmashuffle.integration

import java.io.ByteArrayOutputStream
import java.io.PrintStream

import io.rdmashuffle.core.doctor.ClusterReport
import io.rdmashuffle.spark.DoctorJob
import org.apache.spark.SparkContext
import org.apache.spark.api.java.JavaSparkContext

/** The doctor on every executor of an application, as one table. */
class DoctorSuite extends RealCluster {

  clusterTest("each executor is examined from within") { sc =>
    val report = examine(sc)
    assert(report.size() == 2)
    assert(report.usable(), table(report))
    assert(table(report).linesIterator.count(_.matches("  ok +[01] .* softverbs0 at .*")) == 2, table(report))
    assert(table(report).contains("2 of 2 executors can use RDMA."))
    assert(report.toJson.startsWith("""{"usable":true,"executors":[{"executor":"0","host":"""), report.toJson)
  }

  clusterTest("executors that cannot say why and what helps", noDevice) { sc =>
    val report = examine(sc)
    assert(!report.usable())
    assert(table(report).contains("no RDMA device"), table(report))
    assert(table(report).contains("-> "), table(report))
    assert(table(report).contains("0 of 2 executors can use RDMA."), table(report))
  }

  clusterTest("the application's own settings are examined", "spark.shuffle.rdma.mode" -> "off") { sc =>
    assert(table(examine(sc)).contains("the application's settings: spark.shuffle.rdma.mode=off"))
  }

  private def examine(sc: SparkContext): ClusterReport = DoctorJob.examineAll(new JavaSparkContext(sc))

  private def table(report: ClusterReport): String = {
    val bytes = new ByteArrayOutputStream()
    report.print(new PrintStream(bytes, true, "UTF-8"))
    bytes.toString("UTF-8")
  }
}
