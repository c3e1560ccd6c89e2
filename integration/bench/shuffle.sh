#!/usr/bin/env bash
# bench shuffle - one shuffle, Spark's sort shuffle against ours: one executor serves, one reads
#
#   --maps M --reduces R --block-bytes B   size (default 500 x 500 blocks of 2048 bytes); B,B,… measures one size after the other
#   --hot-factor F                         the blocks of partition 0 are F times as large (default 1)
#   --transport auto|tcp|softverbs         auto: what the machine has; softverbs is a test stand-in, not RDMA (default auto)
#   --lab rxe|siw                          in a guest of the lab, over that link, where blocks must go by RDMA
#   --pairs N --reads N                    pairs of applications, in the order A B B A (default 5); measured readings of each (default 3)
#   --sql-reads N                          so many jobs of Spark SQL, with adaptive execution and without (default 3; in the lab 0)
#   --any-load                             measure although the machine is busy
#   --ablations                            three more variants of ours: one block per request, no offsets kept, over TCP
#   --baselines                            two more variants of sort shuffle, for whether its defaults are its best: NIO, four times the bytes in flight
#   --conf KEY=VALUE                       a setting for all variants of ours; may come again (e.g. spark.shuffle.rdma.sendQueueDepth=16)
#   --executor-options OPTIONS             more JVM options for all executors, such as a profiler's
#   --json FILE                            the result for programs
#   --html FILE                            the same as a page with plots
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/bench/result.sh"

maps=500 reduces=500 blocks=2048 hot=1 transport=auto pairs=5 reads=3 sql_reads='' any_load='' lab='' line=${BENCH_LINE-$*} jvm='' settings_of_ours=() variants=(ours)
title='rdma-shuffle: one shuffle, sort shuffle against ours'
read_result_options "$@"
set -- "${arguments[@]}"
while [ $# -gt 0 ]; do
  case $1 in
    --any-load) any_load=yes; shift; continue;;
    --ablations) variants+=(one-block-per-request no-offsets-kept over-tcp); shift; continue;;
    --baselines) variants+=(sort-nio sort-more-in-flight); shift; continue;;
    --*) [ $# -gt 1 ] || { say "bench shuffle: $1 wants a value"; exit 2; };;&
    --maps) maps=$2;; --reduces) reduces=$2;; --block-bytes) blocks=$2;; --hot-factor) hot=$2;;
    --pairs) pairs=$2;; --reads) reads=$2;; --sql-reads) sql_reads=$2;;
    --transport) transport=$2;; --lab) lab=$2;; --conf) settings_of_ours+=("$2");; --executor-options) jvm=$2;;
    *) say "bench shuffle: unknown option '$1'; see bench shuffle --help"; exit 2;;
  esac
  shift 2
done
case $transport in auto | tcp | softverbs) ;; *) say "bench shuffle: --transport is auto, tcp or softverbs, not '$transport'"; exit 2;; esac
[ -z "$lab" ] || lab_link "$lab"
if [ -z "$sql_reads" ]; then # starting Spark SQL on the lab's emulated processor takes longer than the measurement
  sql_reads=$([ -n "${LAB_HOST_A-}" ] && echo 0 || echo 3)
fi
[[ $sql_reads =~ ^[0-9]+$ ]] || { say "bench shuffle: --sql-reads wants a number from 0 on, not '$sql_reads'"; exit 2; }
want_numbers --maps "$maps" --reduces "$reduces" --hot-factor "$hot" --pairs "$pairs" --reads "$reads"

IFS=, read -ra sizes <<<"$blocks"
[[ $blocks != *, ]] || sizes+=('')
for block in "${sizes[@]}"; do want_numbers --block-bytes "$block"; done

# application NAME PAIR SETTING…: one run in a fresh application.
application() {
  local name=$1 pair=$2 setting settings=(--conf "spark.executor.extraJavaOptions=-Dio.netty.leakDetection.level=disabled $jvm")
  shift 2
  for setting in "${common[@]}" "$@"; do settings+=(--conf "$setting"); done
  say "blocks of $block bytes, pair $pair of $pairs: $name"
  mkdir -p "$out/$block"
  (spark_submit --master 'local-cluster[2,1,2048]' "${settings[@]}" --jars "$plugin_jar" --class io.rdmashuffle.integration.bench.ShuffleBenchJob \
    "$integration_jar" --maps "$maps" --reduces "$reduces" --block-bytes "$block" --hot-factor "$hot" --reads "$reads" \
    --sql-reads "$sql_reads" --json "$out/$block/$name-$pair.json") >"$out/$block/$name-$pair.log" 2>&1 || failed "$out/$block/$name-$pair.log"
  rm -rf "$out/local" "$out/work"
}

# run VARIANT PAIR: a variant of Spark's sort shuffle, or of ours.
run() {
  local settings=(spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager spark.shuffle.rdma.mode="$mode" "${settings_of_ours[@]}")
  case $1 in
    sort) settings=();;
    sort-nio) settings=(spark.shuffle.io.mode=NIO);;
    sort-more-in-flight) settings=(spark.reducer.maxSizeInFlight=192m);;
    one-block-per-request) settings+=(spark.reducer.maxBlocksInFlightPerAddress=1);;
    no-offsets-kept) settings+=(spark.shuffle.rdma.offsetsCache.maxBytes=0);;
    over-tcp) settings+=(spark.shuffle.rdma.mode=auto spark.shuffle.rdma.listen.subnets=203.0.113.0/24);; # for documentation (RFC 5737): no address is in it
  esac
  application "$1" "$2" "${settings[@]}"
}

build
spark_home 4.2
if [ -n "$lab" ]; then
  measure_in_lab "$lab" "${arguments[@]}"
  exit
fi
quiet
out=$root/integration/target/bench/shuffle
rm -rf "$out"
mkdir -p "$out"
export SPARK_LOCAL_DIRS=$out/local SPARK_WORKER_DIR=$out/work SPARK_LOCAL_IP=127.0.0.1
mode=auto
[ -z "${LAB_HOST_A-}" ] || mode=required
if [ "$transport" = softverbs ]; then
  export LD_LIBRARY_PATH=$root/native/target/softverbs
  mode=required
elif [ "$transport" = tcp ]; then
  # no device is found then; mode=off would leave everything to Spark and measure nothing of ours
  export LD_LIBRARY_PATH=$root/native/target/softverbs SOFTVERBS_DEVICES=
fi
common=(
  spark.ui.enabled=false
  spark.executor.memory=1536m
  spark.locality.wait=600s
  spark.shuffle.reduceLocality.enabled=false
  spark.shuffle.readHostLocalDisk=false
  spark.shuffle.compress=false
  spark.shuffle.sort.bypassMergeThreshold=1 # else up to 200 reduces are as many files a map task, whose cost in the kernel hides the rest
  spark.scheduler.minRegisteredResourcesRatio=1.0
  spark.scheduler.maxRegisteredResourcesWaitingTime=120s
)
order=(sort "${variants[@]}")
for block in "${sizes[@]}"; do
  for ((pair = 1; pair <= pairs; pair++)); do
    for ((i = 0; i < ${#order[@]}; i++)); do
      run "${order[pair % 2 ? i : ${#order[@]} - 1 - i]}" "$pair"
    done
  done
done
if [ -n "$html" ]; then # once more, only to record the steps of fetches
  reads=1 sql_reads=0 jvm+=" -XX:StartFlightRecording:settings=none,+io.rdmashuffle.Fetch#enabled=true,filename=$out/$block/fetches-%p.jfr"
  run recorded "$pairs"
fi
say "runs and logs: $out"
java -Drdma.shuffle.commit="$(commit)" -cp "$integration_jar:$SPARK_HOME/jars/*" \
  io.rdmashuffle.integration.bench.ShuffleBenchReport --maps "$maps" --reduces "$reduces" --block-bytes "$blocks" --transport "$transport" \
  --hot-factor "$hot" --settings "${settings_of_ours[*]}" --command "bin/rdma-shuffle bench shuffle $line" --runs "$out" --pairs "$pairs" --variants "$(IFS=,; echo "${variants[*]}")" --json "$json"
write_page
