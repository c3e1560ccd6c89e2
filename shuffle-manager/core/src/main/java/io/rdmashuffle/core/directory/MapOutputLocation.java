package io.rdmashuffle.core.directory;

/**
 * Where one committed map output can be read: what an owner publishes and a reader needs. The keys are bearer rights to memory, so
 * {@link #toString} leaves them out.
 *
 * @param mapId task attempt id of the map task
 * @param placement how its bytes can be read
 * @param dataAddress address of the first byte of the data file in the owner's memory; 0 when {@link Placement#STAGED}
 * @param dataRkey remote key of the data file; 0 when {@link Placement#STAGED}
 * @param dataBytes length of the data file
 * @param offsetsAddress address of the row of R+1 offsets
 * @param offsetsRkey remote key of the offsets
 * @param partitions R, the number of reduce partitions
 */
public record MapOutputLocation(
        long mapId,
        Placement placement,
        long dataAddress,
        int dataRkey,
        long dataBytes,
        long offsetsAddress,
        int offsetsRkey,
        int partitions) {

    /** The same map output once its data file is not registered any more. */
    public MapOutputLocation staged() {
        return new MapOutputLocation(mapId, Placement.STAGED, 0, 0, dataBytes, offsetsAddress, offsetsRkey, partitions);
    }

    @Override
    public String toString() {
        return "MapOutputLocation[mapId=" + mapId + ", " + placement + ", dataBytes=" + dataBytes + ", partitions="
                + partitions + "]";
    }
}
