package io.rdmashuffle.verbs;

/**
 * Run in a JVM of its own, under faults that softverbs is told of: connects two endpoints, posts READs and prints what
 * becomes of them.
 */
final class FaultProbe {
    private static final int READS = 5;
    private static final int READ_BYTES = 4096;
    private static final long PATIENCE_NANOS = 1_000_000_000L;

    private FaultProbe() {}

    public static void main(String[] args) {
        try (NativeMemory memory = NativeMemory.allocate(2 * READ_BYTES);
                VerbsPeer reader = new VerbsPeer();
                VerbsPeer owner = new VerbsPeer()) {
            run(memory, reader, owner);
        } catch (VerbsException e) {
            System.out.println("failed: " + e.getMessage());
        }
        System.out.println("closed");
    }

    private static void run(NativeMemory memory, VerbsPeer reader, VerbsPeer owner) throws VerbsException {
        MemoryRegion source = owner.endpoint.register(memory.address(), READ_BYTES, Access.REMOTE_READ);
        MemoryRegion sink = reader.endpoint.register(
                memory.address() + READ_BYTES, READ_BYTES, Access.LOCAL_WRITE | Access.REMOTE_WRITE);
        VerbsConnection connection = reader.connect(owner);
        ReadBatch batch = new ReadBatch(READS);
        for (int i = 1; i <= READS; i++) {
            batch.add(i, sink.address(), sink.lkey(), source.address(), source.rkey(), READ_BYTES, true);
        }
        System.out.println("posted: " + connection.post(batch, 0, READS));
        pollForAWhile(reader, owner);
        connection.destroyQp();
        reader.completions.forEach(c -> System.out.println("completion: " + c.wrId() + " " + c.status()));
        reader.asyncEvents.forEach(type -> System.out.println("async: " + type + " " + type.scope()));
        owner.asyncEvents.forEach(type -> System.out.println("async: " + type + " " + type.scope()));
        reader.cmEvents.forEach(event -> System.out.println("cm: " + event.type()));
    }

    private static void pollForAWhile(VerbsPeer reader, VerbsPeer owner) throws VerbsException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (reader.completions.size() < READS && System.nanoTime() < deadline) {
            reader.poll(10);
            owner.poll(10);
        }
        reader.poll(50); // what comes along with the completions
    }
}
