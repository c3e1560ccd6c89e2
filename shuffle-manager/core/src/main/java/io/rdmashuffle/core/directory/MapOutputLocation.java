package io.rdmashuffle.core.directory;

/**
 * Where one committed map output can be read: what an owner publishes and a reader needs. The keys are bearer rights to memory, so
 * {@link #toString} leaves them out.
 *
 * @param mapId task attempt id of the map task
 * @param dataAddress address of the first byte of the data file in the owner's memory
 * @param dataRkey remote key of the data file
 * @param dataBytes length of the data file
 * @param offsetsAddress address of the row of R+1 offsets
 * @param offsetsRkey remote key of the offsets
 * @param partitions R, the number of reduce partitions
 */
public record MapOutputLocation(
        long mapId,
        long dataAddress,
        int dataRkey,
        long dataBytes,
        long offsetsAddress,
        int offsetsRkey,
        int partitions) {

    @Override
    public String toString() {
        return "MapOutputLocation[mapId=" + mapId + ", dataBytes=" + dataBytes + ", partitions=" + partitions + "]";
    }
}
