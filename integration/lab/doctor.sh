#!/usr/bin/env bash
# The doctor on a kernel's RDMA stack, on hosts that lack one thing each. bin/test doctor; by hand, with another guest:
#   integration/lab/doctor.sh [--kernel 6.1|7] [--link rxe|siw]
# Leaves a JUnit report and what the doctor said in integration/target/lab-doctor.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
reports=$root/integration/target/lab-doctor
doctor=(java -jar "$plugin_jar" doctor --dir /run)
ordinary=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)

passed=0 failed=0 cases=

# expect NAME EXIT PATTERN… -- CMD…: runs CMD; its exit code must be EXIT and each extended regular expression be in its output.
expect() {
  local name=$1 exit=$2 patterns=() pattern rc=0 problem='' log
  shift 2
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  log=$LAB_SHARE/${name// /-}.txt
  "$@" >"$log" 2>&1 || rc=$?
  [ "$rc" = "$exit" ] || problem="exit code $rc, expected $exit"
  for pattern in "${patterns[@]}"; do grep -qE -- "$pattern" "$log" || problem+=" no '$pattern'"; done
  if [ -z "$problem" ]; then
    passed=$((passed + 1)) cases+="<testcase classname=\"lab.doctor\" name=\"$name\"/>"
    echo "ok    $name"
  else
    failed=$((failed + 1)) cases+="<testcase classname=\"lab.doctor\" name=\"$name\"><failure message=\"see the log\"/></testcase>"
    echo "FAIL  $name:$problem"
    sed 's/^/      /' "$log"
  fi
}

report() {
  printf '<testsuite name="lab.doctor" tests="%d" failures="%d" errors="0" skipped="0">%s</testsuite>\n' \
    $((passed + failed)) "$failed" "$cases" >"$LAB_SHARE/doctor.xml"
}

healthy() {
  local protocol=RoCE mode=rw odp='no'
  [ "$link" = rxe ] || protocol=iWARP
  [ "$kernel" = 6.1 ] || mode=ro odp='READs from on-demand'
  expect 'two devices' 0 "ok +link_layer +${link}_a $protocol; ${link}_b" "ok +odp +${link}_a $odp" \
    "ok +registration +/run \(tmpfs\) $mode" 'ok +loopback_read +4096 bytes right' "address +veth_a $LAB_HOST_A on ${link}_a, also" \
    '^Usable: ' -- "${doctor[@]}"
}

# Two processes with a device each, whose packets cross the link.
peer() {
  local secret=/run/secret other=/run/other server
  echo 'a secret of the lab' >$secret
  echo 'not the secret of the lab' >$other
  "${doctor[@]}" --address "$LAB_HOST_A" --serve --secret-file $secret >/run/serve 2>&1 &
  server=$!
  until grep -q '^Serving' /run/serve || ! kill -0 $server; do sleep 0.2; done
  expect 'peer' 0 'ok +peer_secret' 'ok +peer_connection +from veth_b' 'ok +peer_read +4096 bytes right' -- \
    "${doctor[@]}" --address "$LAB_HOST_B" --peer "$LAB_HOST_A:18516" --secret-file $secret
  expect 'peer with another secret' 3 'fail +peer_secret +it refused our secret' 'skip +peer_read' -- \
    "${doctor[@]}" --address "$LAB_HOST_B" --peer "$LAB_HOST_A:18516" --secret-file $other
  kill $server
  wait $server
}

memlock() {
  local lock
  for lock in 0 64; do
    expect "memlock $lock KiB" 3 'fail +memlock' 'too little to register' "fail +loopback_read +ibv_reg_mr|fail +address" -- \
      prlimit --memlock=$((lock << 10)):$((lock << 10)) "${ordinary[@]}" "${doctor[@]}" --dir /tmp
  done
  expect 'memlock 8192 KiB' 0 'warn +memlock +soft 8 MiB' 'ok +loopback_read' 'warnings: ' -- \
    prlimit --memlock=8388608:8388608 "${ordinary[@]}" "${doctor[@]}" --dir /tmp
}

permissions() {
  chmod 600 /dev/infiniband/uverbs*
  expect 'device without permission' 3 'fail +devices .*may not be opened by this user' -- "${ordinary[@]}" "${doctor[@]}"
  chmod 666 /dev/infiniband/uverbs*
  chmod 600 /dev/infiniband/rdma_cm
  expect 'connection manager without permission' 3 'fail +rdma_cm .*may not be opened by this user' -- "${ordinary[@]}" "${doctor[@]}"
  chmod 666 /dev/infiniband/rdma_cm
}

library() {
  local file
  file=$(readlink -f "$(ldconfig -p | sed -n 's/.*librdmacm.so.1 (.*x86-64.* => //p' | head -n 1)")
  mount --bind /dev/null "$file"
  expect 'library of rdma_cm missing' 3 'fail +rdma_libraries .*librdmacm' '-> install rdma-core' -- "${doctor[@]}"
  umount "$file"
  expect 'wrong native library' 3 'fail +native_library .*ABI item 0' -- \
    java -cp "$root/native/target/native/wrong-abi:$plugin_jar" io.rdmashuffle.core.Main doctor
  mkdir -p /run/noexec
  mount -t tmpfs -o noexec none /run/noexec
  expect 'temporary directory without exec' 3 'fail +native_library .*/run/noexec' '-> .*io.rdmashuffle.native.dir' -- \
    java -Djava.io.tmpdir=/run/noexec -jar "$plugin_jar" doctor --dir /run
}

control_group() {
  local group=/sys/fs/cgroup/small
  mount -t cgroup2 none /sys/fs/cgroup
  echo +memory >/sys/fs/cgroup/cgroup.subtree_control
  mkdir $group
  echo 600M >$group/memory.max
  # shellcheck disable=SC2016 # $0 is the inner shell's
  expect 'control group of 600 MiB' 0 'warn +cgroup_memory +600 MiB, of which free' -- \
    bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' $group "${doctor[@]}"
}

# Each of these takes something away for good.
losses() {
  ip addr flush dev veth_a scope global
  ip addr flush dev veth_b scope global
  [ "$link" = siw ] || expect 'link-local addresses only' 3 'fail +gids .*link-local only' '-> give veth_. an IP address' -- "${doctor[@]}"
  ip link set veth_a down
  expect 'port down' 3 'fail +port_state .*DOWN' '-> bring up the network interface' -- "${doctor[@]}"
  modprobe -r rdma_ucm
  echo /none >/proc/sys/kernel/modprobe # else librdmacm has the kernel load it again
  expect 'connection manager missing' 3 'fail +rdma_cm .*does not exist' "-> run 'modprobe rdma_ucm'" -- "${doctor[@]}"
  rdma link delete "${link}_a"
  rdma link delete "${link}_b"
  expect 'no device' 3 'fail +devices +no RDMA device found' '^Not usable: ' -- "${doctor[@]}"
}

guest() {
  kernel=$1 link=$2
  export JDK_JAVA_OPTIONS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:UseAVX=0 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote'
  healthy
  if [ "$kernel$link" = 6.1rxe ]; then
    peer
    memlock
    permissions
    library
    control_group
    losses
  fi
  report
  [ $failed = 0 ]
}

if [ "${1-}" = guest ]; then guest "${@:2}"; exit; fi

kernel=6.1 link=rxe
while [ $# -gt 1 ]; do
  case $1 in
    --kernel) kernel=$2;;
    --link) link=$2;;
    *) die "unknown option $1";;
  esac
  shift 2
done
build
rm -rf "$reports"
mkdir -p "$reports"
"$root/bin/lab" run --hosts 2 --kernel "$kernel" --link "$link" --timeout 1500 --share "$reports" -- "$0" guest "$kernel" "$link"
