package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.read.BlockRequest;
import org.junit.jupiter.api.Test;

class BlockIdsTest {

    @Test
    void blocks_and_batches_of_a_shuffle_become_columns() {
        BlockIds ids = new BlockIds(new String[] {"shuffle_3_7_2", "shuffle_3_8_4_9"});
        assertArrayEquals(new String[] {"shuffle_3_7_2", "shuffle_3_8_4_9"}, ids.readable());
        BlockRequest request = ids.request("5");
        assertEquals(3, request.shuffleId());
        assertEquals("5", request.executorId());
        assertArrayEquals(new long[] {7, 8}, request.mapIds());
        assertArrayEquals(new int[] {2, 4}, request.startPartitions());
        assertArrayEquals(new int[] {3, 9}, request.endPartitions());
        assertEquals(0, ids.unsupported().length);
    }

    @Test
    void push_merged_chunks_and_blocks_of_another_shuffle_are_left_to_sparks_client() {
        BlockIds ids = new BlockIds(new String[] {"shuffleChunk_3_0_2_1", "shuffle_3_7_2", "shuffle_4_8_0"});
        assertArrayEquals(new String[] {"shuffleChunk_3_0_2_1", "shuffle_4_8_0"}, ids.unsupported());
        assertArrayEquals(new String[] {"shuffle_3_7_2"}, ids.readable());
        assertEquals(1, ids.request("5").size());
    }

    @Test
    void ids_of_other_kinds_are_left_to_sparks_client() {
        String[] others = {
            "rdd_1_2", "broadcast_1_piece0", "shuffle_1", "shuffle_1_2", "shuffle_1_2_0.data", "shuffle_a_2_0"
        };
        BlockIds ids = new BlockIds(others);
        assertArrayEquals(others, ids.unsupported());
        assertEquals(0, ids.readable().length);
    }
}
