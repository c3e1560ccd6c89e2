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
import java.util.Arrays;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class DirectoryTest {

    private Directory directory = new Directory();

    private Message ask(Message message) throws MalformedMessageException {
        byte[] answer = directory.handle(MessageCodec.encode(message));
        return answer == null ? null : MessageCodec.decode(answer);
    }

    private void hello(String executorId, long incarnation) throws MalformedMessageException {
        ask(new Message.Hello(executorId, incarnation, owner(executorId, incarnation), "soft", ""));
    }

    private static Owner owner(String executorId, long incarnation) {
        return new Owner(
                executorId, incarnation, List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 4791)));
    }

    private boolean publish(int shuffleId, long incarnation, long mapId) throws MalformedMessageException {
        MapOutputLocation location = new MapOutputLocation(mapId, Placement.DIRECT, 4096, 1, 100, 8192, 2, 4);
        return ((Message.Ack) ask(new Message.Publish(shuffleId, incarnation, location))).accepted();
    }

    private LocationTable locate(int shuffleId) throws MalformedMessageException {
        return ((Message.Locations) ask(new Message.Locate(shuffleId))).outputs();
    }

    private static String ownerOf(LocationTable outputs, long mapId) {
        return outputs.owner(outputs.find(mapId)).executorId();
    }

    @Test
    void what_was_published_is_found_under_its_owner() throws Exception {
        hello("1", 100);
        hello("2", 200);
        assertTrue(publish(0, 100, 7));
        assertTrue(publish(0, 200, 8));
        assertTrue(publish(1, 200, 9));
        assertEquals(2, locate(0).size());
        assertEquals("1", ownerOf(locate(0), 7));
        assertEquals("2", ownerOf(locate(0), 8));
        assertEquals(3, directory.publishedOutputs());
        assertEquals(0, locate(99).size());
    }

    @Test
    void a_stranger_or_an_executor_without_rdma_cannot_publish() throws Exception {
        assertFalse(publish(0, 100, 7));
        ask(new Message.Hello("1", 100, null, "", "no device"));
        assertFalse(publish(0, 100, 7));
    }

    @Test
    void a_removed_shuffle_is_gone_until_it_is_made_again() throws Exception {
        hello("1", 100);
        publish(0, 100, 7);
        directory.taskStarted(8);
        directory.removeShuffle(0);
        assertEquals(0, locate(0).size());
        assertFalse(publish(0, 100, 8), "a late task");
        assertEquals(0, directory.publishedOutputs());
        directory.taskStarted(9);
        assertTrue(publish(0, 100, 9));
        assertEquals(9, locate(0).location(0).mapId());
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
        assertEquals("2", ownerOf(locate(0), 8));
        assertEquals(5, directory.reports().get(100L).get(Counter.RDMA_BYTES));
        assertEquals(0, directory.reports().get(100L).get(Gauge.REGISTERED_BYTES), "it has nothing any more");
    }

    @Test
    void what_a_service_serves_for_executors_goes_by_their_names_and_stays_when_they_are_lost() throws Exception {
        hello("1", 100);
        hello("2", 200);
        ask(new Message.Hello("service for 1", 101, owner("1", 900), "soft", ""));
        ask(new Message.Hello("service for 2", 201, owner("2", 900), "soft", ""));
        assertTrue(publish(0, 101, 7));
        assertTrue(publish(0, 201, 8));
        assertTrue(publish(0, 100, 9));
        directory.removeExecutor("1");
        directory.removeExecutor("2");
        LocationTable left = locate(0);
        assertEquals(2, left.size());
        assertEquals(owner("1", 900), left.owner(left.find(7)));
        assertEquals(owner("2", 900), left.owner(left.find(8)));
    }

    @Test
    void a_withdrawn_output_is_not_found() throws Exception {
        hello("1", 100);
        publish(0, 100, 7);
        ask(new Message.Withdraw(0, 100, 7));
        assertEquals(0, locate(0).size());
    }

    @Test
    void only_its_owner_withdraws_an_output() throws Exception {
        hello("1", 100);
        hello("2", 200);
        publish(0, 100, 7);
        ask(new Message.Withdraw(0, 200, 7));
        assertEquals("1", ownerOf(locate(0), 7));
    }

    @Test
    void what_an_owner_published_before_and_after_it_unpinned_a_shuffle_is_staged() throws Exception {
        hello("1", 100);
        hello("2", 200);
        publish(0, 100, 7);
        publish(0, 200, 8);
        ask(new Message.Unpin(0, 100));
        publish(0, 100, 9);
        LocationTable outputs = locate(0);
        assertEquals(Placement.STAGED, outputs.placement(outputs.find(7)));
        assertEquals(Placement.STAGED, outputs.placement(outputs.find(9)));
        assertEquals(Placement.DIRECT, outputs.placement(outputs.find(8)));
    }

    @Test
    void an_answer_is_encoded_once_until_something_changes() throws Exception {
        hello("1", 100);
        publish(0, 100, 7);
        byte[] question = MessageCodec.encode(new Message.Locate(0));
        byte[] first = directory.handle(question);
        assertSame(first, directory.handle(question));
        publish(0, 100, 8);
        assertEquals(2, locate(0).size());
    }

    @Test
    void an_answer_is_no_question() {
        assertThrows(
                MalformedMessageException.class, () -> directory.handle(MessageCodec.encode(new Message.Ack(true))));
    }

    /** Whoever may send messages may send damaged ones: none of them keeps the directory from serving the others. */
    @Property(tries = 300)
    void after_a_damaged_message_the_directory_goes_on(
            @ForAll @IntRange(max = 5) int which,
            @ForAll @IntRange(max = 100) int at,
            @ForAll byte value,
            @ForAll @IntRange(max = 4) int more)
            throws Exception {
        directory = new Directory(); // for each try
        hello("1", 100);
        hello("2", 200);
        publish(0, 100, 7);
        Owner owner = locate(0).owner(locate(0).find(7));
        Message[] messages = {
            new Message.Hello("1", 100, owner, "soft", ""),
            new Message.Publish(0, 100, new MapOutputLocation(8, Placement.DIRECT, 4096, 1, 100, 8192, 2, 4)),
            new Message.Withdraw(0, 200, 7),
            new Message.Locate(0),
            new Message.Unpin(0, 200),
            new Message.Report(100, new long[] {1, 2, 3})
        };
        byte[] bytes = MessageCodec.encode(messages[which]);
        Arrays.fill(bytes, at % bytes.length, Math.min(bytes.length, at % bytes.length + 1 + more), value);
        try {
            directory.handle(bytes);
        } catch (MalformedMessageException e) {
            assertEquals(1, directory.publishedOutputs(), "what is refused changes nothing");
            assertEquals(1, directory.figures().get(Counter.REFUSED_MESSAGES));
        }
        hello("3", 300);
        assertTrue(publish(5, 300, 9));
        assertEquals("3", ownerOf(locate(5), 9));
        directory.removeExecutor("3");
        assertEquals(0, locate(5).size());
        directory.reports();
    }
}
