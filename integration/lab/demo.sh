#!/bin/bash
# The demo on a kernel RDMA stack: what is slow in the guest is done outside, the queries or jobs run inside. Called by bin/lab demo.
set -euo pipefail
lab_dir=$(dirname "$(readlink -f "$0")")
. "$lab_dir/../../bin/common.sh"

usage() {
  cat <<'USAGE'
usage: lab demo [OPTION…]    the demo inside a throw-away guest, each executor with an address and an RDMA device of its own

  --kernel 6.1|7        as for lab run (default 6.1)
  --link rxe|siw|none   as for lab run (default rxe); without RDMA the queries go over TCP
  --timeout SECONDS     then the guest is killed (default 1800, for mapreduce 3600)
  --engine spark|mapreduce  as for demo (default spark); mapreduce takes no --queries
  --scale F             as for demo (default 0.01, for mapreduce 0.001)
  --queries q3,…|all    (default q3,q97)
  --out DIR             report, rows and logs (default integration/target/lab-demo)
  --json FILE           write the outcome for programs

Exit codes: as for demo; 124 time-out; 125 the guest died or could not be set up.
USAGE
}

misuse() { say "lab demo: $*; see lab demo --help"; exit 2; }

guest=() timeout='' link=rxe engine=spark scale='' queries=q3,q97 out=$root/integration/target/lab-demo json=''
while [ $# -gt 0 ]; do
  case $1 in --help) usage; exit 0;; esac
  [ $# -gt 1 ] || misuse "unknown argument '$1', or it wants a value"
  case $1 in
    --link) link=$2 guest+=("$1" "$2"); one_of "$1" "$2" 'rxe siw none';;
    --kernel) guest+=("$1" "$2"); one_of "$1" "$2" '6.1 7';;
    --timeout) timeout=$2; [[ $2 =~ ^[1-9][0-9]*$ ]] || misuse "$1 wants a positive number, not '$2'";;
    --engine) engine=$2; one_of "$1" "$2" 'spark mapreduce';;
    --scale) scale=$2;;
    --queries) queries=$2;;
    --out) out=$(readlink -m "$2");;
    --json) json=$(readlink -m "$2");;
    *) misuse "unknown option '$1'";;
  esac
  shift 2
done
mode=required
[ "$link" != none ] || mode=auto

if [ "$engine" = mapreduce ]; then
  guest+=(--timeout "${timeout:-3600}")
  options=(--scale "${scale:-0.001}")
  settings=(--conf mapreduce.shuffle.rdma.connect.timeout=60s)
  # each process lives for so short a time that compiling early costs a quarter more than it gives
  JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS-} -XX:CompileThresholdScaling=10"
else
  guest+=(--timeout "${timeout:-1800}")
  options=(--scale "${scale:-0.01}" --queries "$queries")
  # no time to compile each query, and a handshake may take its time
  settings=(
    --no-warm-up --conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN
    --conf spark.sql.shuffle.partitions=4 --conf spark.sql.files.minPartitionNum=2
    --conf spark.shuffle.rdma.connect.timeout=60s
  )
fi
demo=("$root/bin/demo" --engine "$engine" "${options[@]}")
mkdir -p "$out"
rm -f "$out/demo.json"
if [ "$engine" = mapreduce ]; then
  "${demo[@]}" --transport off --out "$out/stock"
  settings+=(--stock "$out/stock")
else
  "${demo[@]}" --prepare
fi
# emulated: no vector unit worth its name, no time to verify byte code that the host has run already, nor for helpers that start processes
export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS-} -XX:UseAVX=0 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -Djdk.lang.Process.launchMechanism=VFORK"
status=0
# shellcheck disable=SC2016 # the guest knows its addresses
"$root/bin/lab" run --hosts 2 "${guest[@]}" --share "$out" --env JDK_JAVA_OPTIONS -- bash -c '"$@" --hosts "$LAB_HOST_A,$LAB_HOST_B" --out "$LAB_SHARE"' \
  demo "${demo[@]}" --mode "$mode" "${settings[@]}" || status=$?
if [ -n "$json" ] && [ -f "$out/demo.json" ]; then cp "$out/demo.json" "$json"; fi
say "lab demo: report and logs in $out"
exit "$status"
