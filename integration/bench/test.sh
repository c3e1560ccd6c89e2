#!/usr/bin/env bash
# The benchmarks at their smallest: each measures, compares, draws. What they find here means nothing.
# Leaves a JUnit report in integration/target/bench-reports.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/integration/checks.sh"
suite=bench

# bench ARG…: a benchmark whose result and page are left in $scratch.
bench() { "$root/bin/rdma-shuffle" bench "$@" --json "$scratch/result.json"; }

# wants TIMES PATTERN FILE: so many lines of the file have it.
wants() {
  local found
  found=$(grep -cE -- "$2" "$scratch/$3")
  [ "$found" = "$1" ] || { echo "$3: $found lines with $2, not $1"; cat "$scratch/$3"; return 1; }
}

shuffle() {
  bench shuffle --maps 2 --reduces 2 --block-bytes 512,65536 --pairs 1 --reads 1 --sql-reads 1 --transport softverbs --any-load --html "$scratch/page.html" &&
    wants 1 '"block_bytes" : 512,' result.json && wants 1 '"block_bytes" : 65536,' result.json &&
    wants 2 '"ratio" : [0-9.]+,' result.json && wants 2 '"sql_plain_ratio" : [0-9.]+,' result.json &&
    wants 2 '"rdma_bytes" : [1-9]' result.json && wants 2 '"tcp_bytes" : 0,' result.json &&
    wants 1 'Time line of one fetch' page.html && wants 1 '<h2>CPU per GiB read</h2>' page.html
}

tpcds() {
  bench tpcds --scale 0.01 --queries q3,q97 --pairs 1 --transport softverbs --any-load --html "$scratch/page.html" &&
    wants 2 '"equal" : true,' result.json && wants 2 '"ratio" : [0-9.]+,' result.json && wants 2 '"rdma_bytes" : [1-9]' result.json && wants 0 '"tcp_bytes" : [1-9]' result.json
}

alternate() {
  bench tpcds --scale 0.01 --queries q3,q97 --pairs 1 --transport tcp --alternate --any-load &&
    wants 2 '"equal" : true,' result.json && wants 2 '"tcp_bytes" : [1-9]' result.json
}

directory() {
  bench directory --maps 2000 --executors 20 --reduces 10 --html "$scratch/page.html" && wants 1 '"maps" : 2000,' result.json && wants 1 '<h1>' page.html
}

reads() {
  bench reads --lab rxe --rounds 1 --seconds 1 --sizes 64,65536 --html "$scratch/page.html" &&
    wants 2 '"ratio" : [0-9.]+,' result.json && wants 2 '"latency_ratio" : [0-9.]+,' result.json && wants 1 '<h1>' page.html
}

micro() { bench micro -wi 0 -i 1 -r 10ms && wants 1 '"benchmark" : ".*\.readInAChain"' result.json; }

page() { "$root/bin/rdma-shuffle" bench page --html "$scratch/page.html" "$root"/integration/bench/results/shuffle-300x300-{tcp,softverbs}.json && wants 1 '<h1>' page.html; }

# Each is one line and exit code 2, before anything is built.
wrong_usage() {
  local line status
  while read -r line; do
    # shellcheck disable=SC2086 # options and values
    "$root/bin/rdma-shuffle" bench $line >"$scratch/said" 2>&1
    status=$?
    [ $status = 2 ] && [ "$(wc -l <"$scratch/said")" = 1 ] || { echo "bench $line: $status"; cat "$scratch/said"; return 1; }
  done <<END
nothing
shuffle --maps x
shuffle --block-bytes 512,
shuffle --lab ib
tpcds --rounds 0
tpcds --scale
tpcds --alternate
directory --maps 1k
reads --sizes 64,x
reads --processor
reads --block 64
micro --html page.html
page
END
}

check 'wrong usage is one line and nothing else' wrong_usage
check 'the driver’s directory is measured and drawn' directory
check 'single parts are measured under JMH' micro
check 'sort shuffle and ours are compared for each block size, every block of ours by RDMA' shuffle
check 'queries are compared, rows and times' tpcds
check 'both shuffles take turns in one application' alternate
check 'READs from Java are compared with perftest’s, in the lab' reads
check 'results of before are drawn on one page' page
report
