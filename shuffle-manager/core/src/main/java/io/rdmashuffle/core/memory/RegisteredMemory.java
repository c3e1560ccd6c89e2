package io.rdmashuffle.core.memory;

import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.NativeMemory;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;

/** Native memory and its registration, opened and closed together. Owner closes it; any thread. */
record RegisteredMemory(NativeMemory memory, MemoryRegion region) implements AutoCloseable {

    /**
     * @param access rights of {@link io.rdmashuffle.verbs.Access}
     * @throws VerbsException when memory or memlock runs out; nothing is kept then
     */
    static RegisteredMemory allocate(VerbsEndpoint endpoint, long bytes, int access) throws VerbsException {
        NativeMemory memory = NativeMemory.allocate(bytes);
        try {
            return new RegisteredMemory(memory, endpoint.register(memory.address(), bytes, access));
        } catch (VerbsException | RuntimeException e) { // the latter of a closed endpoint
            memory.close();
            throw e;
        }
    }

    @Override
    public void close() {
        region.close();
        memory.close();
    }
}
