#!/usr/bin/env bash
# The lab part of bin/test: the tests of native and core on a kernel RDMA device, then one Spark job that may use nothing else.
# Leaves JUnit reports in integration/target/lab-reports.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
reports=$root/integration/target/lab-reports
core=$root/shuffle-manager/core/target

# In the guest: softverbs is not on the library path, so the device is the kernel's.
guest() {
  export RDMA_SHUFFLE_TEST_ADDRESS=$LAB_HOST_A
  java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:UseAVX=0 -Xcheck:jni \
    -cp "$core/lab-lib/*:$core/classes:$core/test-classes:$root/native/target/classes:$root/native/target/test-classes" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --details tree --reports-dir "$LAB_SHARE" \
    $(printf -- '--select-class io.rdmashuffle.verbs.%s ' EndpointTest ConnectionTest ReadTest TwoProcessesTest MemoryTest) \
    --select-class io.rdmashuffle.core.RdmaNodeTest
}

# report_demo STATUS FILE: a JUnit report of the one Spark job: right answers, all by RDMA.
report_demo() {
  local failed=0
  [ "$1" = 0 ] && jq -e '.results_equal and .transport == "rdma" and .bytes.rdma > 0 and .bytes.tcp == 0 and .fallbacks == {}' "$2" >/dev/null || failed=1
  printf '<testsuite name="lab demo" tests="1" failures="%d" errors="0" skipped="0"><testcase name="a Spark job whose blocks all arrive by RDMA_READ">%s</testcase></testsuite>\n' \
    "$failed" "$([ "$failed" = 0 ] || echo '<failure/>')" >"$reports/TEST-lab-demo.xml"
  [ "$failed" = 0 ] || say 'lab: the Spark job in the guest failed, or not all blocks came by RDMA'
  return "$failed"
}

if [ "${1-}" = guest ]; then guest; exit; fi

need_packages jq openjdk-17-jdk-headless maven cmake make gcc libc6-dev libibverbs-dev librdmacm-dev
rm -rf "$reports"
mkdir -p "$reports"
(cd "$root" && mvn -q -B -Dspotless.check.skip -pl native,shuffle-manager/core test-compile process-test-classes) >&2 || die 'the tests did not compile'
status=0
"$root/bin/lab" run --hosts 1 --timeout 900 --share "$reports" -- "$0" guest || status=1
"$root/bin/lab" demo --json "$reports/demo.json" && demo=0 || demo=$?
report_demo "$demo" "$reports/demo.json" || status=1
exit "$status"
