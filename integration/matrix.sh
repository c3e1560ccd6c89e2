#!/usr/bin/env bash
# The same jars on every Spark and Hadoop version and JDK: the demo's cluster and comparison, on softverbs, where nothing may go over TCP.
#
#   matrix.sh all     every supported pair; a JDK that is not installed is skipped
#   matrix.sh yarn    of these the ones of Hadoop
#   matrix.sh smoke   one query on each other Spark version built for Scala 2.13, on JDK 17
#
# Prints a table; leaves a JUnit report in integration/target/matrix-reports.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../bin/common.sh"
reports=$root/integration/target/matrix-reports
work=$root/integration/target/matrix
cases='' passed=0 failed=0 skipped=0

# jdk_home MAJOR: the directory of an installed JDK of that version, if there is one.
jdk_home() {
  local release
  for release in /usr/lib/jvm/*/release; do
    if grep -qs "^JAVA_VERSION=\"$1[.\"]" "$release"; then dirname "$release"; return; fi
  done
  return 1
}

# json NAME FILE: the number or truth value under that name; the last one, as totals come last.
json() { grep -oE "\"$1\" *: *[a-z0-9]+" "$2" 2>/dev/null | grep -oE '[a-z0-9]+$' | tail -1; }

# row WHAT JDK RESULT DETAIL: a line of the table and a case of the report.
row() {
  local inside=''
  printf '%-24s %-4s %-8s %s\n' "$@"
  case $3 in
    passed) passed=$((passed + 1));;
    skipped) skipped=$((skipped + 1)) inside="<skipped message=\"$4\"/>";;
    failed) failed=$((failed + 1)) inside="<failure message=\"$4\"/>";;
  esac
  cases+="<testcase classname=\"matrix\" name=\"$1, JDK $2\">$inside</testcase>"
}

# try WHAT JDK DEMO-OPTION…: runs the demo so; all outputs must be equal, all remote bytes must have come by RDMA.
try() {
  local what=$1 jdk=$2 home out
  shift 2
  out=$work/$(tr ' A-Z' '-a-z' <<<"${what/,/} jdk $jdk")
  home=$(jdk_home "$jdk") || { row "$what" "$jdk" skipped 'this JDK is not installed'; return; }
  rm -rf "$out"
  mkdir -p "$out"
  JAVA_HOME=$home PATH=$home/bin:$PATH "$root/bin/demo" --transport softverbs --scale 0.01 --out "$out" "$@" >"$out.log" 2>&1
  local status=$? rdma tcp
  rdma=$(json rdma "$out/demo.json") tcp=$(json tcp "$out/demo.json")
  if [ $status = 0 ] && [ "$(json results_equal "$out/demo.json")" = true ] && [ "${rdma:-0}" -gt 0 ] && [ "$tcp" = 0 ]; then
    row "$what" "$jdk" passed "outputs equal, $rdma bytes by RDMA, none by TCP"
  else
    row "$what" "$jdk" failed "see integration/target/matrix/${out##*/}.log"
  fi
}

spark() { try "Spark $1, Scala $2" "$3" --spark "$1" --scala "$2" --queries "$4" --no-warm-up; }
hadoop() { try "Hadoop $1" "$2" --engine mapreduce --hadoop "$1"; }

all() {
  local pair jdk
  for pair in 3.5/2.12 3.5/2.13 4.0/2.13 4.1/2.13 4.2/2.13; do
    for jdk in $(jdks_of "${pair%/*}"); do spark "${pair%/*}" "${pair#*/}" "$jdk" q3,q19,q51,q97; done
  done
  yarn
}

yarn() {
  local jdk
  hadoop 3.4 17
  for jdk in 17 21 25; do hadoop 3.5 "$jdk"; done
}

# jdks_of SPARK: the JDKs that this Spark supports and our jar too (from 17 on).
jdks_of() {
  case $1 in
    3.5) echo 17;;
    4.0 | 4.1) echo 17 21;;
    4.2) echo 17 21 25;;
  esac
}

smoke() {
  local pair
  for pair in 3.5/2.13 4.0/2.13 4.1/2.13; do spark "${pair%/*}" "${pair#*/}" 17 q97; done
}

case ${1-} in all | yarn | smoke) ;; *) say "matrix.sh all, yarn or smoke, not '${1-}'"; exit 2;; esac
mkdir -p "$reports"
printf '%-24s %-4s %-8s %s\n' on JDK result ''
"$1"
printf '<testsuite name="matrix" tests="%d" failures="%d" skipped="%d">%s</testsuite>\n' \
  $((passed + failed + skipped)) $failed $skipped "$cases" >"$reports/matrix.xml"
[ $failed = 0 ]
