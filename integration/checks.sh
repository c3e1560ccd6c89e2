# Checks in shell, with a JUnit report. Sourced after common.sh; sets scratch, a directory that goes with the script.
# shellcheck shell=bash disable=SC2154
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0 cases=

# check NAME CMD…: CMD must succeed; one that ends with 77 is skipped, its last line says why.
check() {
  local name=$1 rc=0 result=ok inner=''
  shift
  "$@" >"$scratch/log" 2>&1 || rc=$?
  case $rc in
    0) passed=$((passed + 1));;
    77) skipped=$((skipped + 1)) result=skip inner='<skipped/>'; name+=" ($(tail -n 1 "$scratch/log"))";;
    *) failed=$((failed + 1)) result=FAIL inner='<failure message="see the log"/>';;
  esac
  cases+="<testcase classname=\"$suite\" name=\"$name\">$inner</testcase>"
  say "$(printf '%-4s  %s' $result "$name")"
  [ $result != FAIL ] || sed 's/^/      /' "$scratch/log" >&2
}

skip() { echo "$*"; exit 77; }

# report: leaves the report of $suite in integration/target/SUITE-reports; its status is that of all checks.
report() {
  local reports=$root/integration/target/$suite-reports
  rm -rf "$reports"
  mkdir -p "$reports"
  printf '<testsuite name="%s" tests="%d" failures="%d" errors="0" skipped="%d">%s</testsuite>\n' \
    "$suite" $((passed + failed + skipped)) $failed $skipped "$cases" >"$reports/$suite.xml"
  [ $failed = 0 ]
}
