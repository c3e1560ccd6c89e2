#!/usr/bin/env bash
# The lab parts of bin/test. Leave JUnit reports in integration/target/lab-reports, or lab-fault-reports.
#   test.sh          the tests of native and core on a kernel RDMA device, then one Spark job that may use nothing else
#   test.sh faults   on RoCEv2 and iWARP what kernels can do to us: processes stopped and killed, links down and up, an attacker;
#                    mapreduce's too
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
core=$root/shuffle-manager/core/target

# In a guest, softverbs is not on the library path, so the device is the kernel's.
guest() {
  # emulated: no vector unit worth its name, no time to verify byte code that the host has run already
  export JDK_JAVA_OPTIONS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:UseAVX=0 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote'
  export RDMA_SHUFFLE_TEST_ADDRESS=$LAB_HOST_A
  local status=0
  case $1 in
    basics)
      junit verbs.{EndpointTest,ConnectionTest,ReadTest,MessageTest,TwoProcessesTest,MemoryTest} core.{RdmaNodeTest,PlacementTest} || status=1
      spark_job || status=1;;
    faults)
      junit core.{ProcessFaultTest,AttackerTest,connection.StagingTest,NetworkTest} || status=1
      mapreduce || status=1;;
    two-hosts)
      echo 2 >/proc/sys/net/ipv4/tcp_syn_retries # soft-iWARP holds up the event loop while TCP tries: docs/network.md
      junit core.NetworkTest || status=1
      junit core.LinkFaultTest || status=1;; # last, as a link that went down may leave a kernel the worse
  esac
  return $status
}

# junit CLASS…: below io.rdmashuffle; $libraries is what they need beside core's
junit() {
  local reports=$LAB_SHARE/$1
  # shellcheck disable=SC2046 # one word each
  java -Xcheck:jni -Dorg.slf4j.simpleLogger.log.org.apache.hadoop=warn -cp "$core/lab-lib/*:${libraries:+$libraries:}$core/classes:$core/test-classes:$root/native/target/classes:$root/native/target/test-classes" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --details testfeed --reports-dir "$reports" \
    --config junit.jupiter.execution.timeout.lifecycle.method.default=300s \
    $(printf -- '--select-class io.rdmashuffle.%s ' "$@")
}

mapreduce() {
  local target=$root/shuffle-manager/mapreduce/target
  libraries=$target/classes:$target/test-classes:$(<"$target/test-classpath") junit mapreduce.RdmaShuffleHandlerTest
}

spark_job() {
  export SPARK_TESTING=1 SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_HOSTNAME=localhost
  local classes=$root/integration/target
  cd /run && java "@$classes/test-classes/jvm-options" -Xss4m -Xmx1g \
    -Dspark.testing=1 -Dspark.test.home=/run -Dspark.ui.enabled=false -cp "$classes/classes:$classes/test-classes:$(<"$classes/test-classpath")" \
    org.scalatest.tools.Runner -R "$classes/test-classes" -s io.rdmashuffle.integration.LabSuite -oW -u "$LAB_SHARE" |
    grep -v -E ' (INFO|WARN) '
  return "${PIPESTATUS[0]}"
}

# in_guest WHAT LINK HOSTS
in_guest() {
  mkdir -p "$reports/$1-$2"
  local cpus=2
  [ "$2" = rxe ] || cpus=1 # soft-iWARP leaves unread what comes in while it accepts: docs/network.md
  "$root/bin/lab" run --link "$2" --hosts "$3" --cpus $cpus --timeout 1500 --share "$reports/$1-$2" -- "$0" guest "$1" || status=1
}

if [ "${1-}" = guest ]; then guest "$2"; exit; fi

need_packages openjdk-17-jdk-headless maven cmake make gcc libc6-dev libibverbs-dev librdmacm-dev
reports=$root/integration/target/lab${1:+-fault}-reports
rm -rf "$reports"
module=integration # Spark
[ -z "${1-}" ] || module=shuffle-manager/mapreduce
(cd "$root" && mvn -q -B -pl "$module" -am -Dspotless.check.skip -DskipTests package) >&2 || die 'the tests did not compile'
status=0
if [ "${1-}" = faults ]; then
  for link in rxe siw; do
    in_guest faults "$link" 1
    in_guest two-hosts "$link" 2
  done
else
  in_guest basics rxe 1
fi
exit $status
