#!/usr/bin/env bash
# bench directory - the driver's directory at scale, by simulation: publish rate, bytes per map output, time and bytes to locate a shuffle
#
#   --maps N --executors N --reduces N   size (default 100000, 1000, 1000)
#   --seed N                             of the simulated addresses (default 1)
#   --json FILE                          the result for programs
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
case ${1-} in --help | -h) sed -n '2,/^set /{/^set /d;s/^# \?//;p}' "$0"; exit 0;; esac
build
spark_home 4.2
exec java -Xmx2g -Drdma.shuffle.commit="$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)" \
  -cp "$integration_jar:$plugin_jar:$SPARK_HOME/jars/*" io.rdmashuffle.integration.bench.DirectoryBench "$@"
