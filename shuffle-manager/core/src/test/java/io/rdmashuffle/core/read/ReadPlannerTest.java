package io.rdmashuffle.core.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class ReadPlannerTest {

    @Test
    void neighbours_in_memory_become_one_read() {
        Extents extents = new Extents(3);
        extents.add(1000, 7, 10);
        extents.add(1010, 7, 20);
        extents.add(1030, 7, 5);
        List<ReadPlan> plans = ReadPlanner.plan(extents, 1 << 20, 1 << 20);
        assertEquals(1, plans.size());
        assertEquals(1, plans.get(0).reads());
        assertEquals(35, plans.get(0).lengthBytes(0));
        assertEquals(3, plans.get(0).extents);
    }

    @Test
    void other_keys_and_gaps_start_another_read() {
        Extents extents = new Extents(3);
        extents.add(1000, 7, 10);
        extents.add(1010, 8, 20);
        extents.add(1031, 8, 5);
        assertEquals(3, ReadPlanner.plan(extents, 1 << 20, 1 << 20).get(0).reads());
    }

    @Test
    void a_long_extent_is_split_at_the_longest_message() {
        Extents extents = new Extents(1);
        extents.add(0, 1, 25);
        ReadPlan plan = ReadPlanner.plan(extents, 10, 1000).get(0);
        assertEquals(3, plan.reads());
        assertEquals(5, plan.lengthBytes(2));
        assertEquals(20, plan.remoteAddress(2));
    }

    @Test
    void nothing_to_read_gives_no_plan() {
        assertTrue(ReadPlanner.plan(new Extents(0), 10, 10).isEmpty());
    }

    /** Lays out what the READs bring as (key, address) of every byte and compares with what was wanted. */
    @Property(tries = 500)
    void every_byte_arrives_once_and_in_order(
            @ForAll @Size(max = 40) List<@IntRange(min = 1, max = 60) Integer> lengths,
            @ForAll @Size(value = 40) List<@IntRange(min = 0, max = 3) Integer> gaps,
            @ForAll @IntRange(min = 1, max = 50) int maxMessage,
            @ForAll @IntRange(min = 1, max = 200) int sinkBytes) {
        Extents extents = new Extents(0);
        StringBuilder wanted = new StringBuilder();
        long address = 0;
        for (int i = 0; i < lengths.size(); i++) {
            int rkey = gaps.get(i) == 3 ? 2 : 1;
            address += gaps.get(i);
            extents.add(address, rkey, lengths.get(i));
            trace(wanted, rkey, address, lengths.get(i));
            address += lengths.get(i);
        }
        StringBuilder brought = new StringBuilder();
        int nextExtent = 0;
        for (ReadPlan plan : ReadPlanner.plan(extents, maxMessage, sinkBytes)) {
            assertEquals(nextExtent, plan.firstExtent);
            nextExtent += plan.extents;
            assertTrue(plan.sinkBytes <= sinkBytes || plan.extents == 1);
            long planned = 0;
            for (int read = 0; read < plan.reads(); read++) {
                assertTrue(plan.lengthBytes(read) >= 1 && plan.lengthBytes(read) <= maxMessage);
                planned += plan.lengthBytes(read);
                trace(brought, plan.rkey(read), plan.remoteAddress(read), plan.lengthBytes(read));
            }
            assertEquals(plan.sinkBytes, planned);
        }
        assertEquals(extents.size(), nextExtent);
        assertEquals(wanted.toString(), brought.toString());
    }

    private static void trace(StringBuilder trace, int rkey, long address, int length) {
        for (long at = address; at < address + length; at++) {
            trace.append(rkey).append('@').append(at).append(' ');
        }
    }
}
