package io.rdmashuffle.core.read;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class InFlightTest {

    private final List<String> started = new ArrayList<>();

    private void enter(InFlight inFlight, long owner, long bytes, String name) {
        inFlight.enter(owner, bytes, () -> started.add(name));
    }

    @Test
    void what_fits_starts_at_once() {
        InFlight inFlight = new InFlight(100, 50);
        enter(inFlight, 1, 30, "a");
        enter(inFlight, 1, 20, "b");
        enter(inFlight, 2, 50, "c");
        assertEquals(List.of("a", "b", "c"), started);
        assertEquals(100, inFlight.bytes());
    }

    @Test
    void one_owner_at_its_bound_does_not_hold_up_another() {
        InFlight inFlight = new InFlight(100, 50);
        enter(inFlight, 1, 50, "a");
        enter(inFlight, 1, 10, "b");
        enter(inFlight, 2, 50, "c");
        assertEquals(List.of("a", "c"), started);
        inFlight.leave(1, 50);
        assertEquals(List.of("a", "c", "b"), started);
    }

    @Test
    void owners_take_turns_and_each_ones_plans_keep_their_order() {
        InFlight inFlight = new InFlight(10, 10);
        enter(inFlight, 9, 10, "first");
        for (String name : new String[] {"a1", "a2", "a3"}) {
            enter(inFlight, 1, 10, name);
        }
        enter(inFlight, 2, 10, "b1");
        enter(inFlight, 2, 10, "b2");
        inFlight.leave(9, 10);
        for (long owner : new long[] {1, 2, 1, 2}) {
            inFlight.leave(owner, 10);
        }
        assertEquals(List.of("first", "a1", "b1", "a2", "b2", "a3"), started);
    }

    @Test
    void nobody_overtakes_a_large_plan_whose_turn_it_is() {
        InFlight inFlight = new InFlight(100, 100);
        enter(inFlight, 1, 60, "a");
        enter(inFlight, 2, 90, "large");
        enter(inFlight, 3, 10, "small");
        assertEquals(List.of("a"), started);
        inFlight.leave(1, 60);
        assertEquals(List.of("a", "large", "small"), started);
    }

    @Test
    void what_is_more_than_the_bound_goes_alone() {
        InFlight inFlight = new InFlight(100, 50);
        enter(inFlight, 1, 10, "a");
        enter(inFlight, 1, 500, "huge");
        assertEquals(List.of("a"), started);
        inFlight.leave(1, 10);
        assertEquals(List.of("a", "huge"), started);
    }

    @Test
    void plans_that_end_at_once_do_not_pile_up_on_the_stack() {
        InFlight inFlight = new InFlight(10, 10);
        inFlight.enter(1, 10, () -> {});
        int[] ended = new int[1];
        for (int i = 0; i < 100_000; i++) {
            inFlight.enter(1, 10, () -> {
                ended[0]++;
                inFlight.leave(1, 10);
            });
        }
        inFlight.leave(1, 10);
        assertEquals(100_000, ended[0]);
        assertEquals(0, inFlight.bytes());
    }

    /** Plans of owners enter and leave in any order: the bounds hold, the order of each owner too, and all start in the end. */
    @Property(tries = 500)
    void bounds_hold_and_everybody_gets_in(
            @ForAll @Size(max = 60) List<@IntRange(min = 1, max = 70) Integer> sizes,
            @ForAll @Size(value = 60) List<@IntRange(min = 0, max = 3) Integer> owners,
            @ForAll @Size(value = 60) List<Boolean> leaves) {
        InFlight inFlight = new InFlight(100, 50);
        ArrayDeque<int[]> under = new ArrayDeque<>();
        Map<Integer, List<Integer>> order = new HashMap<>();
        for (int i = 0; i < sizes.size(); i++) {
            int number = i;
            int owner = owners.get(i);
            int bytes = sizes.get(i);
            inFlight.enter(owner, bytes, () -> {
                under.add(new int[] {owner, bytes});
                order.computeIfAbsent(owner, id -> new ArrayList<>()).add(number);
                assertBounds(under);
            });
            if (leaves.get(i) && !under.isEmpty()) {
                int[] gone = under.poll();
                inFlight.leave(gone[0], gone[1]);
            }
        }
        while (!under.isEmpty()) {
            int[] gone = under.poll();
            inFlight.leave(gone[0], gone[1]);
        }
        assertEquals(sizes.size(), order.values().stream().mapToInt(List::size).sum());
        order.values().forEach(numbers -> assertEquals(numbers.stream().sorted().toList(), numbers));
        assertEquals(0, inFlight.bytes());
    }

    private static void assertBounds(ArrayDeque<int[]> under) {
        Map<Integer, List<Integer>> byOwner = new HashMap<>();
        under.forEach(
                one -> byOwner.computeIfAbsent(one[0], id -> new ArrayList<>()).add(one[1]));
        int all = under.stream().mapToInt(one -> one[1]).sum();
        assertTrue(all <= 100 || under.size() == 1, all + " bytes");
        byOwner.values().forEach(sizes -> {
            int sum = sizes.stream().mapToInt(size -> size).sum();
            assertTrue(sum <= 50 || sizes.size() == 1, sum + " bytes of one owner");
        });
    }
}
