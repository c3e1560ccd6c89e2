package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.connection.Owner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Messages of the directory: one map output on its way to the driver, and time per map output of the answer to executors. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class DirectoryBenchmark {

    private static final int MAPS = 10_000;
    private static final int OWNERS = 100;

    private final Directory directory = new Directory();
    private final Message.Publish publish = new Message.Publish(1, 1, location(7));
    private final byte[] publishBytes = MessageCodec.encode(publish);
    private Message.Locations locations;
    private byte[] locationsBytes;

    @Setup
    public void setUp() throws MalformedMessageException {
        LocationTable table = new LocationTable();
        for (int map = 0; map < MAPS; map++) {
            table.put(owner(map % OWNERS), location(map));
        }
        locations = new Message.Locations(table);
        locationsBytes = MessageCodec.encode(locations);
        directory.handle(MessageCodec.encode(new Message.Hello("1", 1, owner(1), "mlx5_0", "")));
    }

    @Benchmark
    public byte[] encodePublish() {
        return MessageCodec.encode(publish);
    }

    /** What the driver's thread does for a map output, its answer included. */
    @Benchmark
    public byte[] handlePublish() throws MalformedMessageException {
        return directory.handle(publishBytes);
    }

    @Benchmark
    @OperationsPerInvocation(MAPS)
    public byte[] encodeLocations() {
        return MessageCodec.encode(locations);
    }

    @Benchmark
    @OperationsPerInvocation(MAPS)
    public Message decodeLocations() throws MalformedMessageException {
        return MessageCodec.decode(locationsBytes);
    }

    @Benchmark
    @OperationsPerInvocation(MAPS)
    public int find() {
        int found = 0;
        for (int map = 0; map < MAPS; map++) {
            found += locations.outputs().find(map);
        }
        return found;
    }

    private static Owner owner(long incarnation) {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 4791);
        return new Owner("1", incarnation, List.of(address));
    }

    private static MapOutputLocation location(int map) {
        return new MapOutputLocation(
                map, Placement.DIRECT, 0x7f00_0000_0000L + map, 77, 8 << 20, 0x7e00_0000_0000L + map, 7, 1000);
    }
}
