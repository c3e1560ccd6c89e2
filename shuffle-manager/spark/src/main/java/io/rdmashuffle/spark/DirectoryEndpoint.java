package io.rdmashuffle.spark;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.directory.Directory;
import org.apache.spark.rpc.IsolatedThreadSafeRpcEndpoint;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEnv;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * The directory on Spark's RPC, with Spark's authentication and encryption. Messages are plain bytes, so that RPC never needs a
 * class of ours, which it would not find when the plugin came by {@code --jars}. One thread, in the order of arrival.
 */
final class DirectoryEndpoint implements IsolatedThreadSafeRpcEndpoint {

    static final String NAME = "rdma-shuffle-directory";

    /** Is answered by itself after all messages before it. */
    static final byte[] BARRIER = {};

    private final RpcEnv rpcEnv;
    private final Directory directory;

    DirectoryEndpoint(RpcEnv rpcEnv, Directory directory) {
        this.rpcEnv = rpcEnv;
        this.directory = directory;
    }

    @Override
    public RpcEnv rpcEnv() {
        return rpcEnv;
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receive() {
        return new BytesFunction() {
            @Override
            void handle(byte[] message) throws MalformedMessageException {
                directory.handle(message);
            }

            @Override
            void refuse(MalformedMessageException e) {
                // nobody waits for an answer, and the directory has counted it
            }
        };
    }

    @Override
    public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
        return new BytesFunction() {
            @Override
            void handle(byte[] message) throws MalformedMessageException {
                context.reply(message.length == 0 ? BARRIER : directory.handle(message));
            }

            @Override
            void refuse(MalformedMessageException e) {
                // an exception of Spark's class path, which the other side can read
                context.sendFailure(new IllegalArgumentException(e.getMessage()));
            }
        };
    }

    private abstract static class BytesFunction extends AbstractPartialFunction<Object, BoxedUnit> {

        abstract void handle(byte[] message) throws MalformedMessageException;

        abstract void refuse(MalformedMessageException e);

        @Override
        public boolean isDefinedAt(Object message) {
            return message instanceof byte[];
        }

        @Override
        public BoxedUnit apply(Object message) {
            try {
                handle((byte[]) message);
            } catch (MalformedMessageException e) {
                refuse(e);
            }
            return BoxedUnit.UNIT;
        }
    }
}
