# What the benchmarks do with their result. Sourced after build.sh.
# shellcheck shell=bash disable=SC2154

# read_result_options ARG…: sets json and html to the files to write, html to none if it was not asked for, arguments to the other arguments; prints the help that was asked for.
read_result_options() {
  json=$root/integration/target/bench/last.json html='' arguments=()
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) sed -n '2,/^set /{/^set /d;s/^# \?//;p}' "$0"; exit 0;;
      --json | --html) [ $# -gt 1 ] || { say "bench: $1 wants a file"; exit 2; };;&
      --json) json=$(readlink -m "$2"); shift 2;;
      --html) html=$(readlink -m "$2"); shift 2;;
      *) arguments+=("$1"); shift;;
    esac
  done
  mkdir -p "$root/integration/target/bench"
}

# want_numbers OPTION VALUE…: ends with wrong usage unless each value is a number from 1 on.
want_numbers() {
  while [ $# -gt 0 ]; do
    [[ $2 =~ ^[1-9][0-9]*$ ]] || { say "bench: $1 wants a number from 1 on, not '$2'"; exit 2; }
    shift 2
  done
}

# quiet: ends when the machine is and stays busy, as what is measured then is its other work; unless any_load is set.
quiet() {
  [ -z "$any_load" ] && [ -r /proc/pressure/cpu ] || return 0
  local pressure wait
  for wait in 5 5 5 5 5 5 0; do # our own build may be what it still remembers
    pressure=$(sed -n 's/^some avg10=\([0-9]*\).*/\1/p' /proc/pressure/cpu)
    [ "$pressure" -gt 20 ] || return 0
    sleep $wait
  done
  die "the machine is busy (processes waited $pressure % of the last 10 s); wait, or give --any-load"
}

# write_page [RESULT…]: the page that was asked for, under the title, of this result or of others; its plots in the folder $plots, if that is set.
write_page() {
  [ -z "$html" ] || java -Djava.awt.headless=true -cp "$root/integration/target/lib/*" \
    io.rdmashuffle.integration.report.ResultPage "$html" "$title" "${plots-}" "${@:-$json}"
}

commit() { git -C "$root" describe --always --dirty 2>/dev/null || echo unknown; }

# failed LOG: ends the benchmark because an application failed; of a guest's log, which goes with it, the end is shown.
failed() {
  [ -z "${LAB_HOST_A-}" ] || tail -n 60 "$1" >&2
  die "an application failed; log: $1"
}

# lab_link LINK: ends with wrong usage unless the lab has such a link.
lab_link() {
  case $1 in rxe | siw) ;; *) say "bench: --lab is rxe or siw, not '$1'"; exit 2;; esac
}

# measure_in_lab LINK ARG…: runs this benchmark in a guest of the lab, with what was built here and its arguments less --lab; the guest leaves the result here.
measure_in_lab() {
  local link=$1 i
  shift
  for ((i = 1; i <= $#; i++)); do
    [ "${!i}" != --lab ] || { set -- "${@:1:i-1}" "${@:i+2}"; break; }
  done
  # with AVX a JVM got SIGILL in compiled code now and then, whatever it ran: the processor is emulated
  export BENCH_LINE=$line JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS-} -XX:UseAVX=0"
  "$root/bin/lab" run --link "$link" --timeout 7200 --share "$(dirname "$json")" --env BENCH_LINE --env JDK_JAVA_OPTIONS "$0" "$@" --json "/share/$(basename "$json")"
  write_page
}
