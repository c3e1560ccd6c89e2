package io.rdmashuffle.spark;

import org.apache.spark.MapOutputTracker;
import org.apache.spark.MapSizesByExecutorId;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockManagerId;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Iterator;
import scala.collection.Seq;

/**
 * What a reduce task has to read, as Spark's map output tracker lists it.
 *
 * @param byAddress blocks (id, size, map index) by executor
 * @param batch whether adjacent blocks may be fetched as one
 */
record BlocksToRead(Iterator<Tuple2<BlockManagerId, Seq<Tuple3<BlockId, Object, Object>>>> byAddress, boolean batch) {

    /** As SortShuffleManager.getReader finds them. */
    static BlocksToRead find(
            ShuffleHandle handle,
            int startMapIndex,
            int endMapIndex,
            int startPartition,
            int endPartition,
            TaskContext context) {
        MapOutputTracker tracker = SparkEnv.get().mapOutputTracker();
        boolean batch = SortShuffleManager.canUseBatchFetch(startPartition, endPartition, context);
        int shuffleId = handle.shuffleId();
        if (((BaseShuffleHandle<?, ?, ?>) handle).dependency().isShuffleMergeFinalizedMarked()) {
            MapSizesByExecutorId merged = tracker.getPushBasedShuffleMapSizesByExecutorId(
                    shuffleId, startMapIndex, endMapIndex, startPartition, endPartition);
            return new BlocksToRead(merged.iter(), batch && merged.enableBatchFetch());
        }
        return new BlocksToRead(
                tracker.getMapSizesByExecutorId(shuffleId, startMapIndex, endMapIndex, startPartition, endPartition),
                batch);
    }
}
