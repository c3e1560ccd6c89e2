package io.rdmashuffle.integration

/** The features that are chosen by settings at the start of the application: the same jobs under each. */
class SettingsFeatureSuite extends FeatureSuite {

  private def overRdma(name: String, settings: (String, String)*): Unit =
    featureTest(name, required +: settings: _*)(FeatureJobs.mixed)(assertAllByRdma())

  private def serializer(name: String) = "spark.serializer" -> s"org.apache.spark.serializer.${name}Serializer"

  private def codec(name: String) = "spark.io.compression.codec" -> name

  overRdma("the Java serializer with lz4", serializer("Java"), codec("lz4"))

  overRdma("the Java serializer with snappy", serializer("Java"), codec("snappy"))

  overRdma("the Kryo serializer with zstd", serializer("Kryo"), codec("zstd"))

  overRdma(
    "the Kryo serializer with lzf, written serialized instead of one file for each partition",
    serializer("Kryo"),
    codec("lzf"),
    "spark.shuffle.sort.bypassMergeThreshold" -> "0"
  )

  overRdma(
    "the Java serializer without compression, written sorted",
    serializer("Java"),
    "spark.shuffle.compress" -> "false",
    "spark.shuffle.sort.bypassMergeThreshold" -> "0"
  )

  overRdma("encrypted files", serializer("Kryo"), "spark.io.encryption.enabled" -> "true")

  featureTest("executors of one host read each other's files when that is on", hostLocal("true"))(FeatureJobs.mixed) {
    val seen = report()
    assert(seen.rdmaBytes == 0 && seen.tcpBytes == 0 && seen.fallbacks.isEmpty, seen)
  }

  private def hostLocal(on: String) = "spark.shuffle.readHostLocalDisk" -> on
}
