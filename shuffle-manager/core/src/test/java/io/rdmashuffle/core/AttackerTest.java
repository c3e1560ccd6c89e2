package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.Proofs;
import io.rdmashuffle.core.directory.LocationTable;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.directory.MessageCodec;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The attacker of native/src/test/c/attacker against an owner that serves a reader all the while: on softverbs, and on real kernels
 * in the lab. Nothing gets in, and what the reader reads stays right and on RDMA.
 */
@Timeout(300)
class AttackerTest {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final boolean LAB = System.getenv("RDMA_SHUFFLE_TEST_ADDRESS") != null;
    private static final Path ATTACKER =
            FaultTable.ROOT.resolve("native/target/native/src/test/c").resolve(LAB ? "attacker_on_device" : "attacker");
    private static final int TRIES = LAB ? 5 : 50;
    private static final long FIRST_READER = 1_000_000;

    @TempDir
    Path folder;

    private final Random random = new Random(7);
    private final Counters ownerCounters = new Counters();
    private TestNodes nodes;
    private byte[] secret;
    private Owner owner;
    private MapOutputLocation target;
    private byte[] file;
    private RdmaNode reader;
    private long nextReader = FIRST_READER;

    @BeforeEach
    void open() throws Exception {
        TestNodes.clearFaults();
        nodes = new TestNodes(folder);
        nodes.engineSecret = "never sent".getBytes(StandardCharsets.UTF_8);
        RdmaNode node = nodes.open("1", ownerCounters, "connect.timeout", "2s");
        reader = nodes.open("2", new Counters());
        file = nodes.publish(node, 0, 11, 300_000);
        secret = reader.secret();
        LocationTable outputs = nodes.locations(0);
        owner = outputs.owner(outputs.find(11));
        target = outputs.location(outputs.find(11));
        assertReads();
    }

    @AfterEach
    void close() throws Exception {
        nodes.close();
    }

    @Test
    void without_the_secret_nobody_gets_in() throws Exception {
        List<String> lines = new ArrayList<>(List.of("-", "00", "00".repeat(56)));
        for (int i = 0; i < TRIES; i++) {
            byte[] noise = new byte[56];
            random.nextBytes(noise);
            lines.add(HexFormat.of().formatHex(noise));
            lines.add(Proofs.request("another application".getBytes(StandardCharsets.UTF_8), 9, incarnation(), i));
            lines.add(Proofs.request(seenOnTheWay(), 9, incarnation(), i));
        }
        if (!LAB) {
            TestNodes.inject("create_qp device_fatal"); // a queue pair made for any of them would end the READs
        }
        assertNothingGetsIn("connect without the secret", "connect", lines);
    }

    /** What the driver sends to members, in clear unless Spark encrypts its connections. */
    private byte[] seenOnTheWay() throws MalformedMessageException {
        Message.Hello member = new Message.Hello("2", 5, null, "", "");
        byte[] answer = nodes.directory.handle(MessageCodec.encode(member));
        return ((Message.Welcome) MessageCodec.decode(answer)).secret();
    }

    @Test
    void a_stolen_proof_is_worth_nothing() throws Exception {
        String used = Proofs.request(secret, 77, incarnation(), 5);
        Figures first = attack("connect", List.of(used));
        assertEquals(1, first.gotIn, "a member's first use is let in, or this test proves nothing");
        List<String> lines = new ArrayList<>(Collections.nCopies(TRIES, used));
        lines.add(Proofs.request(secret, 77, incarnation(), 4)); // older than what was seen
        lines.add(Proofs.request(secret, 77, incarnation() + 1, 6)); // of another life of the owner
        lines.add(Proofs.answer(secret, 77, incarnation(), 7)); // what the owner itself sends
        assertNothingGetsIn("connect with a stolen proof", "connect", lines);
    }

    @Test
    void a_flood_of_requests_does_not_starve_who_is_connected() throws Exception {
        assertNothingGetsIn("flood of requests", "flood", List.of(), Integer.toString(LAB ? 64 : 1024));
        assertTrue(ownerCounters.get(Counter.REFUSED_CONNECTIONS) > 0);
    }

    @Test
    void handshakes_that_are_never_ended_are_bounded_and_given_up() throws Exception {
        Resources before = Resources.now();
        int asked = LAB ? 8 : 300;
        int allowed = 256;
        List<String> lines = freshProofs(asked);
        if (!LAB) {
            TestNodes.inject("accept drop"); // softverbs ends a handshake for a stopped process, kernels do not
        }
        try (Attack attack = new Attack("hold", lines)) {
            attack.awaitLine("holding " + asked);
            assertReads();
            await().atMost(PATIENCE).until(() -> Resources.now().qps() > before.qps() || LAB);
            assertTrue(LAB || Resources.now().qps() <= before.qps() + allowed, "half-open connections are bounded");
            if (asked > allowed) {
                await().atMost(PATIENCE).until(() -> ownerCounters.get(Counter.REFUSED_CONNECTIONS) >= asked - allowed);
            }
            if (!LAB) { // where the stopped attacker's own count too
                await().atMost(PATIENCE).until(() -> Resources.now().qps() == before.qps());
            }
        }
        await().atMost(PATIENCE).untilAsserted(() -> assertEquals(before, Resources.now()));
        assertReads();
    }

    @Test
    void a_member_reads_nothing_but_what_is_published() throws Exception {
        List<String> lines = new ArrayList<>();
        long end = target.dataAddress() + target.dataBytes();
        lines.add(line(target.dataRkey(), end, 8));
        lines.add(line(target.dataRkey(), end - 8, 16));
        lines.add(line(target.dataRkey(), target.dataAddress() - 8, 8));
        lines.add(line(target.dataRkey(), target.dataAddress(), target.dataBytes() + 1));
        lines.add(line(target.dataRkey(), 0, 8));
        for (int i = 1; i <= TRIES; i++) {
            lines.add(line(random.nextInt(), target.dataAddress(), 8));
            lines.add(line(target.dataRkey() + i, target.dataAddress(), 8)); // soft-RoCE counts the low byte
        }
        assertNothingGetsIn("guessed keys, reads past regions", "read", lines);
        Figures published = attack("read", List.of(line(target.dataRkey(), target.dataAddress(), 8)));
        assertEquals(1, published.gotIn, "what is published can be read, or this test proves nothing");
    }

    @Test
    void a_member_changes_nothing() throws Exception {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            lines.add(line(target.dataRkey(), target.dataAddress(), 8));
            lines.add(line(target.offsetsRkey(), target.offsetsAddress(), 16));
        }
        assertNothingGetsIn("WRITE", "write", lines);
        assertNothingGetsIn("atomic", "atomic", freshened(lines));
        assertReads(nodes.open("3", new Counters())); // to whom the offsets are new too
    }

    private long incarnation() {
        return owner.incarnation();
    }

    /** A line for one access, with a proof of its own. */
    private String line(int rkey, long address, long length) {
        return freshProofs(1).get(0) + " " + Integer.toHexString(rkey) + " " + Long.toHexString(address) + " "
                + Long.toHexString(length);
    }

    private List<String> freshened(List<String> lines) {
        return lines.stream()
                .map(line -> freshProofs(1).get(0) + line.substring(line.indexOf(' ')))
                .toList();
    }

    private List<String> freshProofs(int count) {
        long first = nextReader;
        nextReader += count;
        return LongStream.range(first, first + count)
                .mapToObj(one -> Proofs.request(secret, one, incarnation(), 1))
                .toList();
    }

    private void assertReads() {
        assertReads(reader);
    }

    private void assertReads(RdmaNode node) {
        FetchedBlocks.fetch(node, 0, "1", new long[] {11}, 0).awaitAll().assertRead(0, file, 0, file.length);
    }

    private record Figures(int tried, int gotIn, int refused) {}

    /** Attacks while a reader reads; its every fetch must be right and over RDMA. */
    private void assertNothingGetsIn(String what, String attack, List<String> lines, String... arguments)
            throws Exception {
        int fetches = 0;
        CompletableFuture<Figures> attacking = new CompletableFuture<>();
        Thread attacker = new Thread(() -> {
            try {
                attacking.complete(attack(attack, lines, arguments));
            } catch (IOException | InterruptedException | AssertionError e) {
                attacking.completeExceptionally(e);
            }
        });
        attacker.start();
        do {
            assertReads();
            fetches++;
        } while (!attacking.isDone());
        Figures figures = attacking.get();
        System.out.println("attack: " + what + " on " + reader.device() + ": tried " + figures.tried + ", got in "
                + figures.gotIn + ", refused " + figures.refused + "; fetches beside it: " + fetches + ", all right");
        assertTrue(figures.tried > 0);
        assertEquals(0, figures.gotIn, what);
        assertEquals(figures.tried, figures.refused, what);
    }

    private Figures attack(String attack, List<String> lines, String... arguments)
            throws IOException, InterruptedException {
        try (Attack running = new Attack(attack, lines, arguments)) {
            Matcher matcher =
                    Pattern.compile("tried (\\d+) got in (\\d+) refused (\\d+)").matcher(running.toEnd());
            assertTrue(matcher.find(), "the attacker did not end as it should");
            return new Figures(
                    Integer.parseInt(matcher.group(1)),
                    Integer.parseInt(matcher.group(2)),
                    Integer.parseInt(matcher.group(3)));
        }
    }

    /** A running attacker. Proofs go in by its standard input, so that no command line shows them. */
    private final class Attack implements AutoCloseable {

        private final Process process;
        private final BufferedReader output;

        Attack(String attack, List<String> lines, String... arguments) throws IOException {
            List<String> command = new ArrayList<>(List.of(
                    ATTACKER.toString(),
                    owner.addresses().get(0).getAddress().getHostAddress(),
                    Integer.toString(owner.addresses().get(0).getPort()),
                    attack));
            command.addAll(List.of(arguments));
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment().remove("SOFTVERBS_FAULTS_FILE");
            process = builder.start();
            output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            try (PrintStream input = new PrintStream(process.getOutputStream(), false, StandardCharsets.UTF_8)) {
                lines.forEach(input::println);
            }
        }

        void awaitLine(String expected) throws IOException {
            assertEquals(expected, output.readLine());
        }

        String toEnd() throws IOException, InterruptedException {
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(0, process.waitFor());
            return text;
        }

        @Override
        public void close() {
            process.destroyForcibly().onExit().join();
        }
    }
}
