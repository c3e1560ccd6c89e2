# The demo's other engine: WordCount and TeraSort on a YARN cluster. Sourced by bin/demo, which has read the command line.
# shellcheck shell=bash disable=SC2154

# run_mapreduce ARG…: the command line.
run_mapreduce() {
  build integration/mapreduce
  hadoop_home "$hadoop"
  [ -z "$prepare_only" ] || return 0
  case $transport in
    softverbs) export LD_LIBRARY_PATH=$root/native/target/softverbs; mode=${mode:-required};;
    off) mode=off;;
  esac
  rm -rf "$out"/{logs,text,tera,WordCount-*,TeraSort-*,TeraValidate,demo.json}
  mkdir -p "$out/logs"
  local status=0 rows
  rows=$(awk -v scale="$scale" 'BEGIN { printf "%d", scale * 4000000 }')
  say "Hadoop ${HADOOP_HOME##*-}: running WordCount and TeraSort ($rows rows) with Hadoop's shuffle and with ours; log: $out/logs/demo.log"
  [ -z "$stock" ] || say "inputs and outputs with Hadoop's shuffle are those in $stock"
  local class_path=$mapreduce_jar:$root/integration/mapreduce/target/classes:$HADOOP_HOME/*
  # opened for Hadoop 3.4's dependency injection
  java -Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC --add-opens=java.base/java.lang=ALL-UNNAMED -cp "$class_path" \
    io.rdmashuffle.integration.mapreduce.Demo "$root" "$class_path" "$out" "${stock:-$out}" "$scratch/cluster" "$hosts" "$rows" \
    "bin/demo $*" "mapreduce.shuffle.rdma.mode=${mode:-auto}" ${extra[@]+"${extra[@]}"} 2>"$out/logs/demo.log" &
  wait $! || status=$?
  [ -f "$out/demo.json" ] || failed "$out/logs/demo.log"
  java -Djava.awt.headless=true -cp "$root/integration/report/target/classes:$HADOOP_HOME/*" \
    io.rdmashuffle.integration.report.ResultPage "$out/report.html" "WordCount and TeraSort with Hadoop's shuffle and with ours" \
    '' "$out/demo.json" 2>"$out/logs/report.log" || failed "$out/logs/report.log"
  say "report: $out/report.html"
  [ -z "$json" ] || cp "$out/demo.json" "$json"
  exit "$status"
}
