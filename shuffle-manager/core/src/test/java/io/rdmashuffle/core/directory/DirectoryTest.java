package io.rdmashuffle.core.directory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.Gauge;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

class DirectoryTest {

    private final Directory directory = new Directory();

    private Message ask(Message message) throws MalformedMessageException {
        byte[] answer = directory.handle(MessageCodec.encode(message));
        return answer == null ? null : MessageCodec.decode(answer);
    }

    private void hello(String executorId, long incarnation) throws MalformedMessageException {
        Owner owner = new Owner(
                executorId, incarnation, List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 4791)));
        ask(new Message.Hello(executorId, incarnation, owner, "soft", ""));
    }

    private boolean publish(int shuffleId, long incarnation, long mapId) throws MalformedMessageException {
        MapOutputLocation location = new MapOutputLocation(mapId, Placement.DIRECT, 4096, 1, 100, 8192, 2, 4);
        return ((Message.Ack) ask(new Message.Publish(shuffleId, incarnation, location))).accepted();
    }

    private List<Message.OwnedOutputs> locate(int shuffleId) throws MalformedMessageException {
        return ((Message.Locations) ask(new Message.Locate(shuffleId))).owners();
    }

    @Test
    void what_was_published_is_found_under_its_owner() throws Exception {
        hello("1", 100);
        hello("2", 200);
        assertTrue(publish(0, 100, 7));
        assertTrue(publish(0, 200, 8));
        assertTrue(publish(1, 200, 9));
        assertEquals(2, locate(0).size());
        assertEquals("1", locate(0).get(0).owner().executorId());
        assertEquals(7, locate(0).get(0).outputs().get(0).mapId());
        assertEquals(3, directory.publishedOutputs());
        assertTrue(locate(99).isEmpty());
    }

    @Test
    void a_stranger_or_an_executor_without_rdma_cannot_publish() throws Exception {
        assertFalse(publish(0, 100, 7));
        ask(new Message.Hello("1", 100, null, "", "no device"));
        assertFalse(publish(0, 100, 7));
    }

    @Test
    void a_removed_shuffle_is_gone_for_good() throws Exception {
        hello("1", 100);
        publish(0, 100, 7);
        directory.removeShuffle(0);
        assertTrue(locate(0).isEmpty());
        assertFalse(publish(0, 100, 8), "a late task of a removed shuffle");
        assertEquals(0, directory.publishedOutputs());
    }

    @Test
    void a_lost_executor_takes_its_outputs_with_it_but_not_its_counters() throws Exception {
        hello("1", 100);
        hello("2", 200);
        publish(0, 100, 7);
        publish(0, 200, 8);
        Counters counters = new Counters();
        counters.add(Counter.RDMA_BYTES, 5);
        counters.setGauge(Gauge.REGISTERED_BYTES, () -> 9);
        assertNull(ask(new Message.Report(100, counters.snapshot().toArray())));
        assertEquals(9, directory.reports().get(100L).get(Gauge.REGISTERED_BYTES));
        directory.removeExecutor("1");
        assertEquals(1, locate(0).size());
        assertEquals("2", locate(0).get(0).owner().executorId());
        assertEquals(5, directory.reports().get(100L).get(Counter.RDMA_BYTES));
        assertEquals(0, directory.reports().get(100L).get(Gauge.REGISTERED_BYTES), "it has nothing any more");
    }

    @Test
    void a_withdrawn_output_is_not_found() throws Exception {
        hello("1", 100);
        publish(0, 100, 7);
        ask(new Message.Withdraw(0, 100, 7));
        assertTrue(locate(0).get(0).outputs().isEmpty());
    }

    @Test
    void an_answer_is_encoded_once_until_something_changes() throws Exception {
        hello("1", 100);
        publish(0, 100, 7);
        byte[] question = MessageCodec.encode(new Message.Locate(0));
        byte[] first = directory.handle(question);
        assertSame(first, directory.handle(question));
        publish(0, 100, 8);
        assertEquals(2, locate(0).get(0).outputs().size());
    }

    @Test
    void an_answer_is_no_question() {
        assertThrows(
                MalformedMessageException.class, () -> directory.handle(MessageCodec.encode(new Message.Ack(true))));
    }
}
