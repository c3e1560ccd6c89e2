package org.apache.spark.rdmashuffle

import java.lang.reflect.{InvocationTargetException, Proxy}

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.network.TransportContext
import org.apache.spark.network.netty.SparkTransportConf
import org.apache.spark.network.shuffle.{ExternalBlockHandler, RemoteBlockPushResolver}
import org.apache.spark.scheduler.SchedulerBackend
import org.apache.spark.storage.BlockManagerId

/** An external shuffle service that also merges pushed blocks, as YARN's does; one in this JVM serves all executors of
  * the machine.
  */
final class ShuffleService extends AutoCloseable {

  private val transport = SparkTransportConf.fromSparkConf(new SparkConf(false), "shuffle", numUsableCores = 2)
  private val context = new TransportContext(
    transport,
    new ExternalBlockHandler(transport, null, new RemoteBlockPushResolver(transport, null))
  )
  private val server = context.createServer()

  def settings: Seq[(String, String)] =
    Seq("spark.shuffle.service.enabled" -> "true", "spark.shuffle.service.port" -> server.getPort.toString)

  /** Lets the application push its blocks here. Only YARN's backend tells Spark where to push to; so we do. */
  def mergeFor(sc: SparkContext): Unit = {
    // another name of this machine than the executors have: else they would read merged blocks from the disk
    val merger = BlockManagerId("shuffle-push-merger", "127.0.0.3", server.getPort)
    val backend = sc.schedulerBackend
    val telling = Proxy.newProxyInstance(
      getClass.getClassLoader,
      Array[Class[_]](classOf[SchedulerBackend]),
      (_, method, arguments) =>
        if (method.getName == "getShufflePushMergerLocations") Seq(merger)
        else
          try method.invoke(backend, arguments: _*)
          catch { case e: InvocationTargetException => throw e.getCause }
    )
    val field = classOf[SparkContext].getDeclaredField("_schedulerBackend")
    field.setAccessible(true)
    field.set(sc, telling)
  }

  override def close(): Unit = {
    server.close()
    context.close()
  }
}
