package io.rdmashuffle.mapreduce;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.ShuffleChannelHandlerContext;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The NodeManager's shuffle service: the stock one, which also answers lookups, so that map outputs can be read over RDMA. Set as
 * {@code yarn.nodemanager.aux-services.mapreduce_shuffle.class}: only a service of that name is given the job tokens. Nothing that
 * goes wrong with RDMA may keep it from serving over HTTP.
 */
public final class RdmaShuffleHandler extends ShuffleHandler {

    private static final Logger LOG = LoggerFactory.getLogger(RdmaShuffleHandler.class);

    private NodeManagerSide side; // null when RDMA is off

    /** Called by the NodeManager when it starts, before the shuffle port is bound, so that no request comes too early. */
    @Override
    protected ShuffleChannelHandlerContext createHandlerContext() {
        ShuffleChannelHandlerContext stock = super.createHandlerContext();
        try {
            side = NodeManagerSide.start(getConfig(), secretManager, userRsrc, this::getAuxiliaryLocalPathHandler);
        } catch (RuntimeException | LinkageError e) {
            LOG.error("RDMA shuffle: not started; map outputs are served over HTTP only", e);
        }
        if (side == null) {
            return stock;
        }
        ShuffleChannelHandlerContext[] own = new ShuffleChannelHandlerContext[1];
        LookupHandler lookups = new LookupHandler(side, () -> own[0].port);
        own[0] = new ShuffleChannelHandlerContext(
                stock.conf,
                stock.userRsrc,
                stock.secretManager,
                stock.pathCache,
                stock.indexCache,
                stock.metrics,
                new HookedChannels(stock.allChannels, lookups));
        return own[0];
    }

    /** Called by the NodeManager when the application has ended. */
    @Override
    public void stopApplication(ApplicationTerminationContext context) {
        super.stopApplication(context); // first the secret goes, so that no lookup brings the job back
        if (side != null) {
            ApplicationId id = context.getApplicationId();
            side.removeJob(new JobID(Long.toString(id.getClusterTimestamp()), id.getId()));
        }
    }

    @Override
    protected void serviceStop() throws Exception {
        if (side != null) {
            side.close();
        }
        super.serviceStop();
    }

    /** The stock handler adds each channel here as it becomes active, before anything was read from it. */
    private static final class HookedChannels extends DefaultChannelGroup {

        private final ChannelGroup stock;
        private final ChannelHandler lookups;

        HookedChannels(ChannelGroup stock, ChannelHandler lookups) {
            super(GlobalEventExecutor.INSTANCE);
            this.stock = stock;
            this.lookups = lookups;
        }

        @Override
        public boolean add(Channel channel) {
            channel.pipeline().addBefore("shuffle", "rdma", lookups);
            return stock.add(channel);
        }

        @Override
        public int size() {
            return stock.size();
        }
    }
}
