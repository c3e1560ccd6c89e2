package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Counts what Spark's own client delivers. Any thread. */
record CountingListener(BlockFetchingListener listener, Counters counters) implements BlockFetchingListener {

    @Override
    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
        counters.add(Counter.TCP_BYTES, data.size());
        counters.add(Counter.TCP_BLOCKS, 1);
        listener.onBlockFetchSuccess(blockId, data);
    }

    @Override
    public void onBlockFetchFailure(String blockId, Throwable exception) {
        listener.onBlockFetchFailure(blockId, exception);
    }
}
