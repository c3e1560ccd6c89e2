# shellcheck shell=bash disable=SC2154 # the settings are written by machine.sh
# The guest's network: a veth pair, an end for each "host", an RDMA device on each end. Sourced by guest.sh.
# rxe of Linux 6.1 serves the initial network namespace only. So both addresses live in it, and policy routing sends
# every packet between them across the pair, where the kernel by itself would keep it on lo.

ipv4() { echo "$2" >"/proc/sys/net/ipv4/conf/$1"; }

# route_across ADDRESS END PEER_ADDRESS PEER_END TABLE: whatever is sent to ADDRESS leaves by the other end and enters by END.
route_across() {
  ipv4 "$2/rp_filter" 0
  ipv4 "$2/accept_local" 1
  ip route add "$1" dev "$4" src "$3" table "$5"
  ip neigh replace "$1" dev "$4" lladdr "$(cat "/sys/class/net/$2/address")"
  ip rule add pref 1 iif "$2" lookup local
  ip rule add pref 2 to "$1" lookup "$5"
}

two_hosts() {
  export LAB_HOST_B=10.9.0.2
  ip addr add "$LAB_HOST_B/32" dev veth_b
  ipv4 all/rp_filter 0
  ipv4 all/accept_local 1
  route_across "$LAB_HOST_A" veth_a "$LAB_HOST_B" veth_b 101
  route_across "$LAB_HOST_B" veth_b "$LAB_HOST_A" veth_a 102
  ip rule add pref 100 lookup local
  ip rule del pref 0
}

# add_device LETTER: an RDMA device on one end.
add_device() {
  rdma link add "${link}_$1" type "$link" netdev "veth_$1"
  export "LAB_DEVICE_${1^^}=${link}_$1"
}

export LAB_HOST_A=10.9.0.1
hostname lab
printf '%s\n' '127.0.0.1 localhost' "$LAB_HOST_A lab lab-a" '10.9.0.2 lab-b' >/etc/hosts
modprobe veth
ip link set lo up
ip link add veth_a mtu 9000 type veth peer name veth_b mtu 9000
ip addr add "$LAB_HOST_A/32" dev veth_a
for end in veth_a veth_b; do
  ip link set "$end" up
  # one processor takes all packets: two would reorder them, which costs rxe a retry each time
  echo 1 >"/sys/class/net/$end/queues/rx-0/rps_cpus"
done
[ "$hosts" = 1 ] || two_hosts
case $link in
  rxe) modprobe -a rdma_rxe rdma_ucm;;
  siw) modprobe -a libcrc32c crc32c_generic iw_cm ib_uverbs rdma_ucm; insmod "$siw";;
esac
[ "$link" = none ] || add_device a
[ "$link" = none ] || [ "$hosts" = 1 ] || add_device b
