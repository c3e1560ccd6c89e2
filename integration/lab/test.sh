#!/usr/bin/env bash
# The lab part of bin/test: the tests of native and core on a kernel RDMA device, then one Spark job that may use nothing else.
# Leaves JUnit reports in integration/target/lab-reports.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
reports=$root/integration/target/lab-reports
core=$root/shuffle-manager/core/target

# In the guest: softverbs is not on the library path, so the device is the kernel's.
guest() {
  # emulated: no vector unit worth its name, no time to verify byte code that the host has run already
  export JDK_JAVA_OPTIONS='-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:UseAVX=0 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote'
  export RDMA_SHUFFLE_TEST_ADDRESS=$LAB_HOST_A
  local status=0
  units || status=1
  spark_job || status=1
  return $status
}

units() {
  # shellcheck disable=SC2046 # one word each
  java -Xcheck:jni -cp "$core/lab-lib/*:$core/classes:$core/test-classes:$root/native/target/classes:$root/native/target/test-classes" \
    org.junit.platform.console.ConsoleLauncher execute --disable-banner --details tree --reports-dir "$LAB_SHARE" \
    $(printf -- '--select-class io.rdmashuffle.verbs.%s ' EndpointTest ConnectionTest ReadTest MessageTest TwoProcessesTest MemoryTest) \
    --select-class io.rdmashuffle.core.RdmaNodeTest --select-class io.rdmashuffle.core.PlacementTest
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

if [ "${1-}" = guest ]; then guest; exit; fi

need_packages openjdk-17-jdk-headless maven cmake make gcc libc6-dev libibverbs-dev librdmacm-dev
rm -rf "$reports"
mkdir -p "$reports"
(cd "$root" && mvn -q -B -Dspotless.check.skip -DskipTests package) >&2 || die 'the tests did not compile'
"$root/bin/lab" run --hosts 1 --timeout 1500 --share "$reports" -- "$0" guest
