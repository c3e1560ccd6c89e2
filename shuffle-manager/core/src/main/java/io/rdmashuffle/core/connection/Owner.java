package io.rdmashuffle.core.connection;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A process whose map outputs can be read. One that serves for several executors is one owner for each of them, all of one incarnation.
 *
 * @param executorId the engine's name of the process, or of the executor that it serves for
 * @param incarnation random identity of this one life of the process: another life on the same host and port has another
 * @param addresses where its RDMA listeners are, all of one device, best first; at least one
 */
public record Owner(String executorId, long incarnation, List<InetSocketAddress> addresses) {

    public Owner {
        if (addresses.isEmpty()) {
            throw new IllegalArgumentException("an owner without an address");
        }
        addresses = List.copyOf(addresses);
    }

    /** Few have the same incarnation. */
    @Override
    public int hashCode() {
        return Long.hashCode(incarnation);
    }

    /** How logs name it. */
    public String label() {
        return addresses.stream()
                .map(address -> address.getAddress().getHostAddress() + ":" + address.getPort())
                .collect(Collectors.joining(", ", "executor " + executorId + " at ", ""));
    }

    /** For peers that have no Kryo; layout in docs/wire-format.md. */
    public void encode(DataOutput out) throws IOException {
        out.writeUTF(executorId);
        out.writeLong(incarnation);
        out.writeByte(addresses.size());
        for (InetSocketAddress address : addresses) {
            byte[] ip = address.getAddress().getAddress();
            out.writeByte(ip.length);
            out.write(ip);
            out.writeShort(address.getPort());
        }
    }

    /** @throws IOException when these are not the bytes of an owner */
    public static Owner decode(DataInput in) throws IOException {
        String executorId = in.readUTF();
        long incarnation = in.readLong();
        InetSocketAddress[] addresses = new InetSocketAddress[in.readUnsignedByte()];
        if (addresses.length == 0) {
            throw new IOException("an owner without an address");
        }
        for (int i = 0; i < addresses.length; i++) {
            byte[] ip = new byte[in.readUnsignedByte()];
            in.readFully(ip);
            addresses[i] = new InetSocketAddress(InetAddress.getByAddress(ip), in.readUnsignedShort());
        }
        return new Owner(executorId, incarnation, List.of(addresses));
    }
}
