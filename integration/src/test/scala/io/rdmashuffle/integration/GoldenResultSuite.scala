package io.rdmashuffle.integration

import java.util.Arrays.asList

import io.rdmashuffle.integration.GoldenResult.Match
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema
import org.apache.spark.sql.types.{DecimalType, StringType, StructType}
import org.scalatest.funsuite.AnyFunSuite

/** What bench tpcds calls the same as Spark's golden results, and what it does not. */
class GoldenResultSuite extends AnyFunSuite {

  private val schema = new StructType().add("brand", StringType).add("sum", DecimalType(7, 2))

  private val golden = GoldenResult.parse(
    "-- Automatically generated\n\n-- !query schema\nstruct<brand:string,sum:decimal(7,2)>\n-- !query output\n" +
      "amalgamalg #x   \t1.50\nunivbrand #x\tNULL\n"
  )

  private def row(brand: String, sum: String): Row =
    new GenericRowWithSchema(Array(brand, Option(sum).map(new java.math.BigDecimal(_)).orNull), schema)

  private val first = row("amalgamalg #8   ", "1.50")
  private val second = row("univbrand #12", null)

  test("the same rows in the same order are exact, whatever number a brand has") {
    assert(golden.compare(asList(first, second)) == Match.EXACT)
  }

  test("the same rows in another order are told apart from exact ones") {
    assert(golden.compare(asList(second, first)) == Match.SAME_ROWS)
  }

  test("another value, a row less and a row more differ") {
    assert(golden.compare(asList(first, row("univbrand #12", "0.00"))) == Match.DIFFERENT)
    assert(golden.compare(asList(first)) == Match.DIFFERENT)
    assert(golden.compare(asList(first, second, second)) == Match.DIFFERENT)
  }

  test("there are 133 golden results: of 101 queries of version 1.4 and of 32 of version 2.7") {
    val names = TpcdsQuery.parse("golden").stream.map[String](_.name).toList
    assert(names.size == 133)
    assert(!names.contains("q6") && names.contains("q6-v2.7"), "q6 has none in version 1.4")
  }
}
