#!/usr/bin/env bash
# bench page - results that were measured before on one page with plots, such as those in integration/bench/results
#
#   RESULT.json…     as benchmarks write them with --json
#   --html FILE      the page (default integration/target/bench/page.html)
#   --title TEXT     its title
#   --plots DIR      each plot as an SVG file, too
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/bench/result.sh"
read_result_options "$@"
[[ " $* " != *' --json '* ]] || { say 'bench page: it makes no result, only a page of results; see bench page --help'; exit 2; }
html=${html:-$root/integration/target/bench/page.html} title='rdma-shuffle: results' plots='' results=()
set -- "${arguments[@]}"
while [ $# -gt 0 ]; do
  case $1 in
    --title | --plots) [ $# -gt 1 ] || { say "bench page: $1 wants a value"; exit 2; };;&
    --title) title=$2; shift;;
    --plots) plots=$(readlink -m "$2"); shift;;
    --*) say "bench page: unknown option '$1'; see bench page --help"; exit 2;;
    *) [ -r "$1" ] || { say "bench page: no file '$1'"; exit 2; }; results+=("$1");;
  esac
  shift
done
[ ${#results[@]} -gt 0 ] || { say 'bench page: which results? see bench page --help'; exit 2; }
build
write_page "${results[@]}"
