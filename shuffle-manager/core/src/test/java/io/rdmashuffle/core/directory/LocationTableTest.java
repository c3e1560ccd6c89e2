package io.rdmashuffle.core.directory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.connection.Owner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class LocationTableTest {

    private static final int PARTITIONS = 4;

    private record Entry(long incarnation, MapOutputLocation location) {}

    private final LocationTable table = new LocationTable();

    private static Owner owner(long incarnation) {
        return new Owner(
                "of " + incarnation,
                incarnation,
                List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 4791)));
    }

    private static MapOutputLocation location(long mapId, int number) {
        return new MapOutputLocation(mapId, Placement.DIRECT, number, number + 1, number, number, number, PARTITIONS);
    }

    @Test
    void a_map_output_published_again_has_its_new_location_only() {
        table.put(owner(1), location(7, 100));
        table.put(owner(2), location(7, 200));
        assertEquals(1, table.size());
        assertEquals(2, table.owner(table.find(7)).incarnation());
        assertEquals(location(7, 200), table.location(table.find(7)));
        assertFalse(table.remove(7, 1), "it is not the first owner's any more");
    }

    @Test
    void another_number_of_partitions_is_refused() {
        assertTrue(table.put(owner(1), location(7, 100)));
        assertFalse(table.put(owner(1), new MapOutputLocation(8, Placement.DIRECT, 1, 1, 1, 1, 1, PARTITIONS + 1)));
        assertEquals(-1, table.find(8));
        assertEquals(location(7, 100), table.location(table.find(7)));
    }

    @Test
    void owners_that_come_and_go_leave_no_rows_behind() {
        int capacity = 0;
        for (int life = 1; life <= 1000; life++) {
            for (int map = 0; map < 100; map++) {
                table.put(owner(life), location(100L * life + map, map));
            }
            assertEquals(100, table.size());
            assertTrue(table.removeOwner(life));
            capacity = Math.max(capacity, table.capacity());
        }
        assertEquals(0, table.size());
        assertTrue(capacity <= 300, capacity + " rows for 100 map outputs");
    }

    @Property(tries = 200)
    void it_holds_what_a_map_of_objects_would_hold(@ForAll long seed) {
        Random random = new Random(seed);
        LocationTable tested = new LocationTable();
        Map<Long, Entry> model = new HashMap<>();
        int range = 1 + random.nextInt(2000);
        for (int step = 0; step < 3000; step++) {
            long mapId = random.nextInt(range);
            long incarnation = 1 + random.nextInt(5);
            switch (random.nextInt(40)) {
                case 0 -> {
                    tested.removeOwner(incarnation);
                    model.values().removeIf(entry -> entry.incarnation == incarnation);
                }
                case 1 -> {
                    tested.stage(incarnation);
                    model.replaceAll((id, entry) ->
                            entry.incarnation == incarnation ? new Entry(incarnation, entry.location.staged()) : entry);
                }
                case 2, 3, 4 -> {
                    boolean theirs = model.containsKey(mapId) && model.get(mapId).incarnation == incarnation;
                    assertEquals(theirs, tested.remove(mapId, incarnation));
                    if (theirs) {
                        model.remove(mapId);
                    }
                }
                default -> {
                    tested.put(owner(incarnation), location(mapId, step));
                    model.put(mapId, new Entry(incarnation, location(mapId, step)));
                }
            }
        }
        Map<Long, Entry> held = new HashMap<>();
        tested.rows().forEach(row -> {
            MapOutputLocation location = tested.location(row);
            assertEquals(row, tested.find(location.mapId()));
            held.put(location.mapId(), new Entry(tested.owner(row).incarnation(), location));
        });
        assertEquals(model, held);
        assertEquals(model.size(), tested.size());
        for (long mapId = 0; mapId < range; mapId++) {
            assertEquals(model.containsKey(mapId), tested.find(mapId) >= 0);
        }
    }
}
