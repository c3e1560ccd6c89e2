package io.rdmashuffle.core.directory;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Registration;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.util.DefaultClassResolver;
import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.connection.Owner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Messages to bytes and back: a version byte, then Kryo with registration required, so that nothing but the messages of this file
 * is ever made from bytes. The layout stands in docs/wire-format.md and is held by a golden-bytes test. Any thread.
 */
public final class MessageCodec {

    private static final byte VERSION = 1;
    private static final int FIRST_ID = 16; // Kryo's own primitives are below
    private static final Placement[] PLACEMENTS = Placement.values();
    private static final int MAX_OUTPUT_BYTES = Integer.MAX_VALUE - 64;

    /** Kryo is not thread-safe. */
    private static final ThreadLocal<Kryo> KRYO = ThreadLocal.withInitial(MessageCodec::newKryo);

    private MessageCodec() {}

    public static byte[] encode(Message message) {
        Output output = new Output(256, MAX_OUTPUT_BYTES);
        output.writeByte(VERSION);
        KRYO.get().writeClassAndObject(output, message);
        return output.toBytes();
    }

    /**
     * @throws MalformedMessageException when the bytes are no message of this version
     */
    public static Message decode(byte[] bytes) throws MalformedMessageException {
        Input input = new Input(bytes);
        try {
            byte version = input.readByte();
            if (version != VERSION) {
                throw new MalformedMessageException("message of version " + version + ", this is " + VERSION, null);
            }
            Object message = KRYO.get().readClassAndObject(input);
            if (message instanceof Message known && input.position() == bytes.length) {
                return known;
            }
        } catch (RuntimeException e) {
            throw new MalformedMessageException("not a message of rdma-shuffle", e);
        }
        throw new MalformedMessageException("not a message of rdma-shuffle", null);
    }

    /** Kryo looks a class up by a name in the bytes before it minds that registration is required: no name is ever looked up here. */
    private static final class IdsOnly extends DefaultClassResolver {
        @Override
        protected Registration readName(Input input) {
            throw new IllegalArgumentException("a class by name");
        }
    }

    private static Kryo newKryo() {
        Kryo kryo = new Kryo(new IdsOnly(), null);
        kryo.setRegistrationRequired(true);
        kryo.setReferences(false);
        int id = FIRST_ID;
        register(kryo, id++, Message.Hello.class, MessageCodec::writeHello, MessageCodec::readHello);
        register(
                kryo,
                id++,
                Message.Welcome.class,
                (out, m) -> writeBytes(out, m.secret()),
                in -> new Message.Welcome(readBytes(in)));
        register(kryo, id++, Message.Publish.class, MessageCodec::writePublish, MessageCodec::readPublish);
        register(
                kryo,
                id++,
                Message.Withdraw.class,
                MessageCodec::writeWithdraw,
                in -> new Message.Withdraw(readNatural(in), in.readLong(), in.readLong(true)));
        register(
                kryo,
                id++,
                Message.Ack.class,
                (out, m) -> out.writeBoolean(m.accepted()),
                in -> new Message.Ack(in.readBoolean()));
        register(
                kryo,
                id++,
                Message.Locate.class,
                (out, m) -> out.writeInt(m.shuffleId(), true),
                in -> new Message.Locate(readNatural(in)));
        register(kryo, id++, Message.Locations.class, MessageCodec::writeLocations, MessageCodec::readLocations);
        register(kryo, id++, Message.Report.class, MessageCodec::writeReport, MessageCodec::readReport);
        register(
                kryo,
                id,
                Message.Unpin.class,
                MessageCodec::writeUnpin,
                in -> new Message.Unpin(readNatural(in), in.readLong()));
        return kryo;
    }

    private static void writeHello(Output out, Message.Hello hello) {
        out.writeString(hello.executorId());
        out.writeLong(hello.incarnation());
        out.writeBoolean(hello.owner() != null);
        if (hello.owner() != null) {
            writeOwner(out, hello.owner());
        }
        out.writeString(hello.device());
        out.writeString(hello.cause());
    }

    private static Message.Hello readHello(Input in) {
        return new Message.Hello(
                readText(in), in.readLong(), in.readBoolean() ? readOwner(in) : null, readText(in), readText(in));
    }

    private static void writePublish(Output out, Message.Publish publish) {
        out.writeInt(publish.shuffleId(), true);
        out.writeLong(publish.incarnation());
        out.writeInt(publish.location().partitions(), true);
        writeLocation(out, publish.location());
    }

    private static Message.Publish readPublish(Input in) {
        return new Message.Publish(readNatural(in), in.readLong(), readLocation(in, readNatural(in)));
    }

    private static void writeWithdraw(Output out, Message.Withdraw withdraw) {
        out.writeInt(withdraw.shuffleId(), true);
        out.writeLong(withdraw.incarnation());
        out.writeLong(withdraw.mapId(), true);
    }

    private static void writeUnpin(Output out, Message.Unpin unpin) {
        out.writeInt(unpin.shuffleId(), true);
        out.writeLong(unpin.incarnation());
    }

    private static void writeLocations(Output out, Message.Locations locations) {
        LocationTable outputs = locations.outputs();
        out.writeInt(outputs.owners().size(), true);
        outputs.owners().forEach(owner -> writeOwner(out, owner));
        out.writeInt(outputs.size(), true);
        out.writeInt(outputs.partitions(), true); // one shuffle, one number of partitions
        outputs.rows().forEach(row -> {
            out.writeInt(outputs.ownerIndex(row), true);
            writeLocation(out, outputs.location(row));
        });
    }

    private static Message.Locations readLocations(Input in) {
        Owner[] owners = new Owner[checkedCount(in, in.readInt(true))];
        for (int i = 0; i < owners.length; i++) {
            owners[i] = readOwner(in);
        }
        int count = in.readInt(true);
        int partitions = readNatural(in);
        LocationTable outputs = new LocationTable();
        for (int i = 0; i < count; i++) {
            outputs.put(owners[in.readInt(true)], readLocation(in, partitions));
        }
        return new Message.Locations(outputs);
    }

    private static void writeReport(Output out, Message.Report report) {
        out.writeLong(report.incarnation());
        out.writeInt(report.counters().length, true);
        for (long value : report.counters()) {
            out.writeLong(value, true);
        }
    }

    private static Message.Report readReport(Input in) {
        long incarnation = in.readLong();
        long[] counters = new long[checkedCount(in, in.readInt(true))];
        for (int i = 0; i < counters.length; i++) {
            counters[i] = in.readLong(true);
        }
        return new Message.Report(incarnation, counters);
    }

    private static void writeOwner(Output out, Owner owner) {
        out.writeString(owner.executorId());
        out.writeLong(owner.incarnation());
        out.writeInt(owner.addresses().size(), true);
        for (InetSocketAddress address : owner.addresses()) {
            writeBytes(out, address.getAddress().getAddress());
            out.writeInt(address.getPort(), true);
        }
    }

    private static Owner readOwner(Input in) {
        String executorId = readText(in);
        long incarnation = in.readLong();
        InetSocketAddress[] addresses = new InetSocketAddress[checkedCount(in, in.readInt(true))];
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = readAddress(in);
        }
        return new Owner(executorId, incarnation, List.of(addresses));
    }

    private static InetSocketAddress readAddress(Input in) {
        byte[] address = readBytes(in);
        try {
            return new InetSocketAddress(InetAddress.getByAddress(address), in.readInt(true));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("an address of " + address.length + " bytes", e);
        }
    }

    private static void writeLocation(Output out, MapOutputLocation location) {
        out.writeLong(location.mapId(), true);
        out.writeByte(location.placement().ordinal());
        out.writeLong(location.dataAddress());
        out.writeInt(location.dataRkey());
        out.writeLong(location.dataBytes(), true);
        out.writeLong(location.offsetsAddress());
        out.writeInt(location.offsetsRkey());
    }

    private static MapOutputLocation readLocation(Input in, int partitions) {
        return new MapOutputLocation(
                in.readLong(true),
                PLACEMENTS[in.readByte()],
                in.readLong(),
                in.readInt(),
                in.readLong(true),
                in.readLong(),
                in.readInt(),
                partitions);
    }

    private static void writeBytes(Output out, byte[] bytes) {
        out.writeInt(bytes.length, true);
        out.writeBytes(bytes);
    }

    private static byte[] readBytes(Input in) {
        return in.readBytes(checkedCount(in, in.readInt(true)));
    }

    /** A number that is never negative, although five bytes of the wire could say so. */
    private static int readNatural(Input in) {
        int number = in.readInt(true);
        if (number < 0) {
            throw new IllegalArgumentException("number " + number);
        }
        return number;
    }

    /** Kryo has a text that is null; we send none. */
    private static String readText(Input in) {
        return Objects.requireNonNull(in.readString(), "text");
    }

    /** A count of things of at least one byte each cannot exceed the bytes left: no allocation on a stranger's word. */
    private static int checkedCount(Input in, int count) {
        if (count < 0 || count > in.limit() - in.position()) {
            throw new IllegalArgumentException("count " + count);
        }
        return count;
    }

    private static <T> void register(
            Kryo kryo, int id, Class<T> type, BiConsumer<Output, T> writer, Function<Input, T> reader) {
        kryo.register(
                type,
                new Serializer<T>() {
                    @Override
                    public void write(Kryo unused, Output output, T message) {
                        writer.accept(output, message);
                    }

                    @Override
                    public T read(Kryo unused, Input input, Class<T> unusedType) {
                        return reader.apply(input);
                    }
                },
                id);
    }
}
