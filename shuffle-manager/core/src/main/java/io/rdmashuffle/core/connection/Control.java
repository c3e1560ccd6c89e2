package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.StagingPool;
import io.rdmashuffle.verbs.VerbsEndpoint;

/**
 * What the messages of a process's connections are about.
 *
 * @param messageBudget for the registered memory that messages lie in
 * @param stagingPool buffers to stage in, as an owner
 * @param files what may be staged, as an owner
 * @param withdrawn told on the loop thread, as a reader
 */
public record Control(
        PinnedBudget messageBudget, StagingPool stagingPool, MapOutputFiles files, WithdrawnListener withdrawn) {

    /** For processes that stage nothing: requests to stage are refused. */
    public static Control withoutStaging(VerbsEndpoint endpoint, PinnedBudget messageBudget) {
        StagingPool noBuffers = new StagingPool(endpoint, new PinnedBudget(0));
        MapOutputFiles noFiles = new MapOutputFiles() {
            @Override
            public DataFile find(int shuffleId, long mapId) {
                return null;
            }

            @Override
            public void touch(int shuffleId) {}
        };
        return new Control(messageBudget, noBuffers, noFiles, (ownerIncarnation, shuffleId) -> {});
    }

    /** Is told what an owner says it will deregister. */
    public interface WithdrawnListener {
        void onWithdrawn(long ownerIncarnation, int shuffleId);
    }
}
