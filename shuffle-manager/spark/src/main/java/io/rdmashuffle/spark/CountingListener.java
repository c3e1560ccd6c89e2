package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/** Counts what Spark's own client delivers, by the reason why it was asked. Any thread. */
record CountingListener(BlockFetchingListener listener, FallbackReason reason, Counters counters)
        implements BlockFetchingListener {

    @Override
    public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
        counters.addTcpBlock(reason, data.size());
        listener.onBlockFetchSuccess(blockId, data);
    }

    @Override
    public void onBlockFetchFailure(String blockId, Throwable exception) {
        listener.onBlockFetchFailure(blockId, exception);
    }
}
