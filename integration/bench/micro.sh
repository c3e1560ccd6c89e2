#!/usr/bin/env bash
# bench micro - single parts under JMH: planner, directory's messages, sink pool, JNI post and poll, completion dispatch
#
#   --json FILE     the result for programs, as JMH writes it
#   NAME, OPTION…   JMH's own: a part of the benchmarks' names, -f forks, -wi and -i iterations, -t threads (default -f 1 -wi 3 -i 5 -w 1 -r 1)
#
# Parts that need a device use softverbs, a test stand-in: what is measured is the way to the device and back, not RDMA.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/bench/result.sh"
read_result_options "$@"
[ -z "$html" ] || { say 'bench micro: there is no page of it; give --json'; exit 2; }
need_packages openjdk-17-jdk-headless maven cmake make gcc libc6-dev libibverbs-dev librdmacm-dev
log=$root/integration/target/bench/micro-build.log
say "building (log: ${log#"$root"/})"
(cd "$root" && mvn -q -B -Dstyle.color=never -pl integration/jmh -am -Dmaven.test.skip -DskipTests -Dspotless.check.skip package) >"$log" 2>&1 ||
  { tail -20 "$log" >&2; die 'the build failed'; }
defaults=(-f 1 -wi 3 -i 5 -w 1 -r 1)
for ((i = 0; i < ${#defaults[@]}; i += 2)); do # JMH wants each option once
  [[ " ${arguments[*]} " == *" ${defaults[i]} "* ]] || arguments+=("${defaults[@]:i:2}")
done
export LD_LIBRARY_PATH=$root/native/target/softverbs
say "commit $(commit), kernel $(uname -r), $(nproc) processors"
java -cp "$root/integration/jmh/target/rdma-shuffle-jmh-$version.jar:$root/integration/jmh/target/lib/*" org.openjdk.jmh.Main \
  -foe true -rf json -rff "$json" "${arguments[@]}"
