# The demo's other engine: WordCount and TeraSort on a YARN cluster. Sourced by bin/demo, which has read the command line.
# shellcheck shell=bash disable=SC2154

run_mapreduce() {
  build integration/mapreduce
  [ -z "$prepare_only" ] || return 0
  case $transport in
    softverbs) export LD_LIBRARY_PATH=$root/native/target/softverbs; mode=${mode:-required};;
    off) mode=off;;
  esac
  rm -rf "$out"
  mkdir -p "$out/logs"
  local status=0 rows
  rows=$(awk -v scale="$scale" 'BEGIN { printf "%d", scale * 4000000 }')
  say "running WordCount and TeraSort ($rows rows) with Hadoop's shuffle and with ours; log: $out/logs/demo.log"
  java -Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -cp "$mapreduce_jar:$root/integration/mapreduce/target/classes:$root/integration/mapreduce/target/hadoop/*" \
    io.rdmashuffle.integration.mapreduce.Demo "$root" "$version" "$out" "$hosts" "$rows" \
    "mapreduce.shuffle.rdma.mode=${mode:-auto}" ${extra[@]+"${extra[@]}"} 2>"$out/logs/demo.log" &
  wait $! || status=$?
  [ -f "$out/demo.json" ] || failed "$out/logs/demo.log"
  [ -z "$json" ] || cp "$out/demo.json" "$json"
  exit "$status"
}
