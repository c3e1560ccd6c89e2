#!/usr/bin/env bash
# bench reads - our READs from Java against ib_read_bw and ib_read_lat of perftest, in turn, on the same devices
#
#   --device D                the device (default the first with an address; in the lab one on each end of the link)
#   --sizes N,… --depth N     bytes of a READ (default 64,4096,65536,1048576), READs under way at once (default 64)
#   --processor N             keep the reader's thread and perftest on this processor (default any; in the lab 1, as 0 handles the packets, which a NIC would)
#   --rounds N --seconds N    rounds, in the order A B B A (default 5); about so long each (default 2)
#   --lab rxe|siw             without hardware: in a guest of the lab, over that link
#   --json FILE               the result for programs
#   --html FILE               the same as a page with plots
#
# Exit code 3: this machine has no RDMA.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/bench/result.sh"
line=${BENCH_LINE-$*}
read_result_options "$@"
title='rdma-shuffle: READs from Java against perftest' lab='' processor=''
for ((i = 0; i < ${#arguments[@]}; i += 2)); do
  value=${arguments[i + 1]-}
  case ${arguments[i]} in
    --device) [ -n "$value" ] || { say 'bench: --device wants a name'; exit 2; }; LAB_HOST_B='';;
    --sizes) [[ $value =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || { say "bench: --sizes wants numbers with commas, not '$value'"; exit 2; };;
    --depth | --rounds | --seconds) want_numbers "${arguments[i]}" "$value";;
    --processor) [[ $value =~ ^[0-9]+$ ]] || { say "bench: --processor wants the number of a processor, not '$value'"; exit 2; }; processor=$value;;
    --lab) lab=$value && lab_link "$lab";;
    *) say "bench reads: unknown option '${arguments[i]}'; see bench reads --help"; exit 2;;
  esac
done
need_packages perftest
build
if [ -n "$lab" ]; then
  measure_in_lab "$lab" "${arguments[@]}"
  exit
fi
if [ -n "${LAB_HOST_B-}" ]; then
  arguments+=(--owner "$LAB_HOST_A" --reader "$LAB_HOST_B")
  [ -n "$processor" ] || arguments+=(--processor 1)
fi
java -XX:+UseSerialGC -Drdma.shuffle.commit="$(commit)" -cp "$integration_jar:$plugin_jar:$root/integration/target/lib/*" \
  io.rdmashuffle.integration.bench.ReadsBench "${arguments[@]}" --command "bin/rdma-shuffle bench reads $line" --json "$json" || exit
write_page
