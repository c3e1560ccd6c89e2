#!/usr/bin/env bash
# bench tpcds - TPC-DS with Spark's sort shuffle and with ours, measured: every result compared, geometric mean of the ratios
#
#   --scale F                            TPC-DS scale factor (default 1: results are compared with Spark's golden ones)
#   --queries q3,q14a-v2.7,…|golden|all  golden: all 133 with a golden result; all: the 103 of version 1.4 (default golden at scale 1,
#                                        else all)
#   --heavy                              broadcast joins off, 256 partitions, none coalesced, and eight queries that shuffle much
#   --transport auto|tcp|softverbs       auto: what the machine has; softverbs is a test stand-in, not RDMA (default auto)
#   --warm-ups N --rounds N              each application runs all queries so many times before it measures (default 1 with --heavy, else 0:
#                                        q3 alone), then so many times, of which medians are taken (default 1)
#   --pairs N                            pairs of applications, in the order A B B A (default 2)
#   --alternate                          over TCP, where two applications differ by more than the two shuffles do: one application, in which
#                                        they take turns; a pair is one round of each, whatever --rounds says
#   --any-load                           measure although the machine is busy
#   --executor-options OPTIONS           more JVM options for all executors, such as a profiler's
#   --json FILE                          the result for programs
#   --html FILE                          the same as a page with plots
#
# Exit code 0 only if all results are equal. At scale 1 with default settings queries shuffle little: that checks answers, not speed.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/bench/result.sh"
read_result_options "$@"
line=$* scale=1 queries='' heavy='' transport=auto pairs=2 warm_ups='' rounds=1 any_load='' alternate='' jvm=''
set -- "${arguments[@]}"
while [ $# -gt 0 ]; do
  case $1 in
    --heavy) heavy=yes; shift; continue;;
    --any-load) any_load=yes; shift; continue;;
    --alternate) alternate=yes; shift; continue;;
    --*) [ $# -gt 1 ] || { say "bench tpcds: $1 wants a value"; exit 2; };;&
    --scale) scale=$2;; --queries) queries=$2;; --transport) transport=$2;; --pairs) pairs=$2;; --warm-ups) warm_ups=$2;; --rounds) rounds=$2;;
    --executor-options) jvm=$2;;
    *) say "bench tpcds: unknown option '$1'; see bench tpcds --help"; exit 2;;
  esac
  shift 2
done
case $transport in auto | tcp | softverbs) ;; *) say "bench tpcds: --transport is auto, tcp or softverbs, not '$transport'"; exit 2;; esac
[ -z "$alternate" ] || [ "$transport" = tcp ] || { say 'bench tpcds: --alternate wants --transport tcp'; exit 2; }
[ -n "$warm_ups" ] || warm_ups=$([ -n "$heavy" ] && echo 1 || echo 0)
[[ $warm_ups =~ ^[0-9]+$ ]] || { say "bench tpcds: --warm-ups wants a number from 0 on, not '$warm_ups'"; exit 2; }
want_numbers --pairs "$pairs" --rounds "$rounds"

# application OUT ROUNDS SETTING…: the queries in a fresh application, rows and figures left in the directory OUT.
application() {
  local name=$1 rounds=$2 setting settings=()
  shift 2
  for setting in "${common[@]}" "$@"; do settings+=(--conf "$setting"); done
  (spark_submit --master 'local-cluster[2,1,2560]' --driver-memory 2g "${settings[@]}" --jars "$plugin_jar,$tpcds_jar" \
    --class io.rdmashuffle.integration.QueryJob "$integration_jar" "$data" "$queries" "$out/$name" "$warm" "$rounds" "$golden") 2>&1 |
    tee "$out/$name.log" | awk '/^\[[0-9]+\/[0-9]+\] / { print; fflush() }' >&2 || failed "$out/$name.log"
  rm -rf "$out/local" "$out/work"
}

stock() {
  say "pair $1 of $pairs: sort"
  application "sort-$1" "$rounds"
}

ours() {
  say "pair $1 of $pairs: ours"
  application "ours-$1" "$rounds" spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager spark.shuffle.rdma.mode="$mode"
}

"$root/bin/demo" --prepare --scale "$scale" >&2
build
spark_home 4.2
data=$root/integration/target/tpcds/seed100-sf$scale tpcds_jar=$(echo "$root"/integration/target/lib/tpcds-*.jar)
quiet
out=$root/integration/target/bench/tpcds
rm -rf "$out"
mkdir -p "$out"
export SPARK_LOCAL_DIRS=$out/local SPARK_WORKER_DIR=$out/work SPARK_LOCAL_IP=127.0.0.1
common=(
  spark.ui.enabled=false
  spark.executor.memory=2g
  spark.executor.extraJavaOptions="$jvm"
  spark.sql.warehouse.dir="$out/warehouse"
  spark.shuffle.readHostLocalDisk=false
  spark.scheduler.minRegisteredResourcesRatio=1.0
  spark.scheduler.maxRegisteredResourcesWaitingTime=120s
)
if [ -n "$heavy" ]; then
  common+=(
    spark.sql.autoBroadcastJoinThreshold=-1
    spark.sql.adaptive.autoBroadcastJoinThreshold=-1
    spark.sql.adaptive.coalescePartitions.enabled=false
    spark.sql.shuffle.partitions=256 # 200 is the bypass-merge threshold: writing 200 files a map would hide the reading
  )
  queries=${queries:-q17,q25,q29,q51,q67,q78,q95,q97}
else
  common+=(spark.sql.shuffle.partitions=8)
fi
golden=no
[ "$scale" != 1 ] || golden=yes
[ -n "$queries" ] || queries=$([ "$golden" = yes ] && echo golden || echo all)
warm=$([ "$warm_ups" = 0 ] && echo q3 || echo "$queries")
for ((i = 1; i < warm_ups; i++)); do warm+=,$queries; done
mode=auto
case $transport in
  softverbs) export LD_LIBRARY_PATH=$root/native/target/softverbs; mode=required;;
  # no device is found then; mode=off would leave everything to Spark and measure nothing of ours
  tcp) export LD_LIBRARY_PATH=$root/native/target/softverbs SOFTVERBS_DEVICES=;;
esac
runs=$out
if [ -n "$alternate" ]; then
  runs=$out/alternating
  application alternating "$pairs" spark.shuffle.manager=io.rdmashuffle.integration.bench.AlternatingShuffleManager
else
  for ((pair = 1; pair <= pairs; pair++)); do
    if ((pair % 2)); then stock "$pair"; ours "$pair"; else ours "$pair"; stock "$pair"; fi
  done
fi
status=0
java -cp "$integration_jar:$SPARK_HOME/jars/*" io.rdmashuffle.integration.TpcdsBenchReport "$runs" "$pairs" "$json" \
  "command=bin/rdma-shuffle bench tpcds $line" "transport=$transport" "scale=$scale" "pairs=$pairs" "warm_ups=$warm_ups" "rounds=$rounds" "commit=$(commit)" \
  "kernel=$(uname -r)" "processors=$(nproc)" "date=$(date -u '+%F %T UTC')" || status=$?
title="rdma-shuffle: TPC-DS at scale $scale against the sort shuffle"
write_page
say "runs and logs: $out"
exit "$status"
