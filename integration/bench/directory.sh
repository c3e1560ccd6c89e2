#!/usr/bin/env bash
# bench directory - the driver's directory at scale, by simulation: publish rate, bytes per map output, time and bytes to locate a shuffle
#
#   --maps N --executors N --reduces N   size (default 100000, 1000, 1000)
#   --seed N                             of the simulated addresses (default 1)
#   --json FILE                          the result for programs
#   --html FILE                          the same as a page
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/bench/result.sh"
read_result_options "$@"
for ((i = 0; i < ${#arguments[@]}; i += 2)); do
  case ${arguments[i]} in
    --maps | --executors | --reduces | --seed) want_numbers "${arguments[i]}" "${arguments[i + 1]-}";;
    *) say "bench directory: unknown option '${arguments[i]}'; see bench directory --help"; exit 2;;
  esac
done
build
spark_home 4.2
java -Xmx2g -Drdma.shuffle.commit="$(commit)" -cp "$integration_jar:$plugin_jar:$SPARK_HOME/jars/*" \
  io.rdmashuffle.integration.bench.DirectoryBench "${arguments[@]}" --command "bin/rdma-shuffle bench directory $*" --json "$json"
title='rdma-shuffle: the driver’s directory at scale'
write_page
