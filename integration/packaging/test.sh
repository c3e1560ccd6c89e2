#!/usr/bin/env bash
# The packages as they are built: what is in them, the oldest glibc, the same bytes from another directory.
# Leaves a JUnit report in integration/target/packaging-reports.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../../bin/common.sh"
. "$root/bin/build.sh"
. "$root/integration/checks.sh"
suite=packaging oldest_glibc=2.28

library() { echo "$root/native/target/native/resources/META-INF/native/linux-$1/librdmashuffle_verbs.so"; }
tarball() { echo "$1/distribution/target/rdma-shuffle-$version.tar.gz"; }

package() { (cd "$1" && mvn -q -B -Dstyle.color=never -pl distribution -am -Dmaven.test.skip -DskipTests -Dspotless.check.skip package) >&2; }

glibc() (
  [ -f "$(library "$1")" ] || skip "no library for $1"
  newest=$(readelf -V "$(library "$1")" | grep -o 'GLIBC_2[0-9.]*' | sed s/GLIBC_// | sort -uV | tail -n 1)
  echo "newest symbol of libc: $newest, allowed: $oldest_glibc"
  [ "$(printf '%s\n' "$newest" $oldest_glibc | sort -V | tail -n 1)" = $oldest_glibc ]
)

emulated() (
  [ -f "$(library aarch64)" ] || skip 'no library for aarch64'
  command -v qemu-aarch64-static >/dev/null || skip 'no qemu-user-static'
  aarch64-linux-gnu-gcc -o "$scratch/load" "$root/integration/packaging/load.c" -ldl &&
    qemu-aarch64-static -L /usr/aarch64-linux-gnu "$scratch/load" "$(library aarch64)"
)

contents() {
  local list=$scratch/list wanted
  tar -tzf "$(tarball "$root")" >"$list"
  for wanted in "rdma-shuffle-spark-$version.jar" "rdma-shuffle-mapreduce-$version.jar" bin/rdma-shuffle conf/spark-defaults.conf.template docs/troubleshooting.md README.md \
    LICENSE NOTICE licenses/slf4j-MIT.txt sbom.cyclonedx.json; do
    grep -qxF "rdma-shuffle-$version/$wanted" "$list" || { echo "the tarball has no $wanted"; return 1; }
  done
}

bill_of_materials() {
  local bom=$root/distribution/target/sbom.cyclonedx.json
  grep -q '"name" : "slf4j-nop"' "$bom" && grep -q '"name" : "rdma-shuffle-core"' "$bom" && ! grep -q '"name" : "spark-core' "$bom"
}

# Each jar has our version, our licence and library, and no class or service of SLF4J where an engine would find it.
jars() {
  local jar list=$scratch/list
  for jar in "$scratch/dist/rdma-shuffle-$version"/*.jar; do
    unzip -p "$jar" META-INF/MANIFEST.MF | tr -d '\r' >"$list"
    unzip -Z1 "$jar" >>"$list"
    grep -qxF "Implementation-Version: $version" "$list" && grep -qxF META-INF/NOTICE "$list" &&
      grep -qxF "META-INF/native/linux-$(uname -m)/librdmashuffle_verbs.so" "$list" &&
      ! grep -qE '^(org/slf4j/|META-INF/services/org.slf4j)' "$list" || { echo "$jar"; cat "$list"; return 1; }
  done
}

# Anywhere, without Spark, Maven or the sources.
commands() (
  command=$scratch/dist/rdma-shuffle-$version/bin/rdma-shuffle
  cd / && "$command" config >"$scratch/settings" && grep '^spark.shuffle.rdma.mode ' "$scratch/settings" &&
    LD_LIBRARY_PATH=$root/native/target/softverbs "$command" doctor
)

reproducible() {
  local copy=$scratch/copy jar
  mkdir "$copy"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" --no-dereference) && package "$copy" || return 1
  for jar in shuffle-manager/spark/target/rdma-shuffle-spark-$version.jar distribution/target/rdma-shuffle-$version.tar.gz; do
    sha256sum "$root/$jar" "$copy/$jar"
    cmp "$root/$jar" "$copy/$jar" || return 1
  done
}

mkdir "$scratch/dist"
package "$root" || die 'the packages could not be built'
tar -xzf "$(tarball "$root")" -C "$scratch/dist" || die 'the tarball cannot be unpacked'
check 'the tarball has everything' contents
check 'the bill of materials lists what is contained' bill_of_materials
check 'each jar has version, licence and library' jars
check 'the commands run from the tarball' commands
for processor in x86_64 aarch64; do check "the library for $processor runs on glibc $oldest_glibc" glibc $processor; done
check 'the library for aarch64 loads' emulated
check 'two builds in different directories give the same bytes' reproducible
report
