package io.rdmashuffle.core.connection;

import java.nio.file.Path;

/** The data files that this process has published, for staging. Any thread. */
public interface MapOutputFiles {

    /** A published data file. */
    record DataFile(Path path, long lengthBytes) {}

    /** The data file of a published map output, or null. What it answers with is all that is ever staged. */
    DataFile find(int shuffleId, long mapId);

    /** The shuffle is being read, so it is not the coldest. */
    void touch(int shuffleId);
}
