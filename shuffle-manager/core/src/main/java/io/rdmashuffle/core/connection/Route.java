package io.rdmashuffle.core.connection;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** A way to an owner: from one of our addresses to one of its. */
record Route(InetAddress local, InetSocketAddress peer) {

    /**
     * The ways to an owner, best first: within a subnet of ours before through a router, otherwise in the owner's order. Addresses of
     * a family that we have not, or that mean nothing on this host, lead nowhere.
     *
     * @param locals our addresses on the device in use, best first
     */
    static List<Route> bestFirst(List<LocalAddress> locals, Owner owner) {
        List<Route> direct = new ArrayList<>();
        List<Route> routed = new ArrayList<>();
        for (InetSocketAddress peer : owner.addresses()) {
            InetAddress there = peer.getAddress();
            if (there instanceof Inet6Address && there.isLinkLocalAddress()) {
                continue;
            }
            locals.stream()
                    .filter(local -> local.address().getClass() == there.getClass())
                    .min(Comparator.comparing(local -> !local.subnet().contains(there)))
                    .ifPresent(local ->
                            (local.subnet().contains(there) ? direct : routed).add(new Route(local.address(), peer)));
        }
        direct.addAll(routed);
        return direct;
    }

    @Override
    public String toString() {
        return peer.getAddress().getHostAddress() + ":" + peer.getPort();
    }
}
