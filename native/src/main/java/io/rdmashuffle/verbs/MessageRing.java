package io.rdmashuffle.verbs;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Registered memory for the messages of one connection: slots of one size, first those to receive into, which messages fill in
 * turn, then those to send from. Owned by whoever allocated it, to be closed after the connection, whose thread alone uses it.
 */
public final class MessageRing implements AutoCloseable {
    /** No memory: for a connection over which no messages come. */
    public static final MessageRing NONE = new MessageRing(null, null, 0, 0, 0);

    private final NativeMemory memory;
    private final MemoryRegion region;
    private final int receiveSlots;
    private final int slotBytes;
    private final ByteBuffer[] slots; // made once, since making one is a native call

    private MessageRing(NativeMemory memory, MemoryRegion region, int receiveSlots, int sendSlots, int slotBytes) {
        this.memory = memory;
        this.region = region;
        this.receiveSlots = receiveSlots;
        this.slotBytes = slotBytes;
        this.slots = new ByteBuffer[receiveSlots + sendSlots];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = memory.buffer((long) i * slotBytes, slotBytes);
        }
    }

    /**
     * Allocates and registers.
     *
     * @param receiveSlots messages that may arrive before their slots are posted anew, at least 1
     * @param sendSlots messages that may be under way, at least 1
     * @param slotBytes longest message, at least 1
     * @throws VerbsException when memory or memlock runs out; nothing is kept then
     */
    public static MessageRing allocate(VerbsEndpoint endpoint, int receiveSlots, int sendSlots, int slotBytes)
            throws VerbsException {
        if (receiveSlots < 1 || sendSlots < 1 || slotBytes < 1) {
            throw new IllegalArgumentException(receiveSlots + " and " + sendSlots + " slots of " + slotBytes);
        }
        long bytes = (long) (receiveSlots + sendSlots) * slotBytes;
        NativeMemory memory = NativeMemory.allocate(bytes);
        try {
            MemoryRegion region = endpoint.register(memory.address(), bytes, Access.LOCAL_WRITE);
            return new MessageRing(memory, region, receiveSlots, sendSlots, slotBytes);
        } catch (VerbsException | RuntimeException e) {
            memory.close();
            throw e;
        }
    }

    /** Slots to receive into: 0 to this, exclusive. The slots to send from follow. */
    public int receiveSlots() {
        return receiveSlots;
    }

    /** Longest message in bytes. */
    public int slotBytes() {
        return slotBytes;
    }

    /**
     * The message in a slot: big-endian, position 0, limit its length. The same buffer each time; valid until the slot is posted
     * anew.
     */
    public ByteBuffer received(int slot, int lengthBytes) {
        return slots[Objects.checkIndex(slot, receiveSlots)].clear().limit(lengthBytes);
    }

    /** An empty buffer over a slot to send from: big-endian. The same buffer each time. */
    public ByteBuffer outgoing(int slot) {
        Objects.checkIndex(slot - receiveSlots, slots.length - receiveSlots);
        return slots[slot].clear();
    }

    /** Deregisters and frees; the second call does nothing. */
    @Override
    public void close() {
        if (region != null) {
            region.close();
            memory.close();
        }
    }

    long address() {
        return memory == null ? 0 : memory.address();
    }

    int lkey() {
        return region == null ? 0 : region.lkey();
    }

    /** Where a message to be sent lies. */
    long checkedAddress(int slot, int lengthBytes) {
        Objects.checkIndex(slot - receiveSlots, slots.length - receiveSlots);
        Objects.checkIndex(lengthBytes - 1, slotBytes);
        return memory.address() + (long) slot * slotBytes;
    }
}
