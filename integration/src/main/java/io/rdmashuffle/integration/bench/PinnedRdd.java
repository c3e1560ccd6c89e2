package io.rdmashuffle.integration.bench;

import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;

/** The same data, computed on one executor: so that one process serves and another reads. */
final class PinnedRdd<T> extends RDD<T> {

    private static final long serialVersionUID = 1;

    private final RDD<T> data;
    private final String location;

    /** @param executor id of an executor of this application */
    PinnedRdd(RDD<T> data, String host, String executor, ClassTag<T> type) {
        super(data, type);
        this.data = data;
        this.location = "executor_" + host + "_" + executor;
    }

    @Override
    public Partition[] getPartitions() {
        return data.partitions();
    }

    @Override
    public Iterator<T> compute(Partition partition, TaskContext context) {
        return data.iterator(partition, context);
    }

    @Override
    public Seq<String> getPreferredLocations(Partition partition) {
        return CollectionConverters.asScala(java.util.List.of(location)).toSeq();
    }
}
