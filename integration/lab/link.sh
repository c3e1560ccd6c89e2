# shellcheck shell=bash disable=SC2154 # the settings are written by machine.sh
# The guest's network: a veth pair, an end for each "host", an RDMA device on each end. Sourced by guest.sh.
# Few calls of ip, since starting a program is slow here.

ipv4() { echo "$2" >"/proc/sys/net/ipv4/conf/$1"; }

links() {
  ip -batch - <<END
link set lo up
link add veth_a mtu 9000 address 02:00:00:00:00:0a type veth peer name veth_b mtu 9000 address 02:00:00:00:00:0b
addr add $LAB_HOST_A/32 dev veth_a
addr add $LAB_HOST_A6/64 dev veth_a nodad
link set veth_a up
link set veth_b up
END
  # one processor takes all packets: two would reorder them, which costs rxe a retry each time
  for end in veth_a veth_b; do echo 1 >"/sys/class/net/$end/queues/rx-0/rps_cpus"; done
}

# rxe of Linux 6.1 serves the initial network namespace only. So both addresses live in it, and what is sent to one of
# them leaves by the other's end (tables 101, 102) and is local only once it came in, or for other addresses.
two_hosts() {
  export LAB_HOST_B=10.9.0.2 LAB_ROUTES=/run/lab/routes
  for end in all veth_a veth_b; do
    ipv4 "$end/rp_filter" 0
    ipv4 "$end/accept_local" 1
  done
  # kept, since the kernel forgets those of a link that goes down
  cat >$LAB_ROUTES <<END
neigh replace $LAB_HOST_A dev veth_b lladdr 02:00:00:00:00:0a
neigh replace $LAB_HOST_B dev veth_a lladdr 02:00:00:00:00:0b
route replace $LAB_HOST_A dev veth_b src $LAB_HOST_B table 101
route replace $LAB_HOST_B dev veth_a src $LAB_HOST_A table 102
END
  ip addr add $LAB_HOST_B/32 dev veth_b
  ip -batch $LAB_ROUTES
  ip -batch - <<END
rule add pref 1 iif veth_a lookup local
rule add pref 1 iif veth_b lookup local
rule add pref 2 to $LAB_HOST_A lookup 101
rule add pref 2 to $LAB_HOST_B lookup 102
rule add pref 100 lookup local
rule del pref 0
END
}

# The other end is an interface without an RDMA device.
one_host() {
  export LAB_PLAIN=10.8.0.1
  ip addr add $LAB_PLAIN/24 dev veth_b
}

# add_device LETTER: an RDMA device on one end.
add_device() {
  rdma link add "${link}_$1" type "$link" netdev "veth_$1"
  export "LAB_DEVICE_${1^^}=${link}_$1"
}

export LAB_HOST_A=10.9.0.1 LAB_HOST_A6=fd00:9::1
hostname lab
printf '%s\n' '127.0.0.1 localhost' "$LAB_HOST_A lab lab-a" '10.9.0.2 lab-b' >/etc/hosts
modprobe veth
links
if [ "$hosts" = 1 ]; then one_host; else two_hosts; fi
case $link in
  rxe) modprobe -a rdma_rxe rdma_ucm;;
  siw) modprobe -a libcrc32c crc32c_generic iw_cm ib_uverbs rdma_ucm; insmod "$siw";;
esac
[ "$link" = none ] || add_device a
[ "$link" = none ] || [ "$hosts" = 1 ] || add_device b
