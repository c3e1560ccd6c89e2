package io.rdmashuffle.integration.mapreduce

import java.nio.file.{Files, Path}

import scala.sys.process._

import org.apache.hadoop.conf.Configuration

/** A key pair for localhost, and what Hadoop reads to serve with it and to trust it. */
class Tls(directory: Path) {

  private val password = "changeit"

  private val keys = directory.resolve("keys.jks")

  /** A directory for the class path of those who ask. */
  val client: Path = Files.createDirectories(directory.resolve("tls"))

  {
    val made = Seq(
      Path.of(sys.props("java.home"), "bin", "keytool").toString,
      "-genkeypair",
      "-keyalg",
      "RSA",
      "-alias",
      "localhost",
      "-dname",
      "CN=localhost",
      "-ext",
      "SAN=dns:localhost,ip:127.0.0.1",
      "-keystore",
      keys.toString,
      "-storetype",
      "JKS",
      "-storepass",
      password,
      "-keypass",
      password
    ).!(ProcessLogger(_ => ()))
    assert(made == 0, "keytool failed")
    write(client.resolve("ssl-client.xml"), "ssl.client.truststore")
  }

  /** Into a directory of the class path of those who serve. */
  def writeServer(target: Path): Unit = write(target.resolve("ssl-server.xml"), "ssl.server.keystore")

  private def write(file: Path, prefix: String): Unit = {
    val conf = new Configuration(false)
    conf.set(s"$prefix.location", keys.toString)
    conf.set(s"$prefix.password", password)
    conf.set("ssl.server.keystore.keypassword", password)
    val out = Files.newOutputStream(file)
    try conf.writeXml(out)
    finally out.close()
  }
}
