# Shared by demo, test and lab demo: builds the project, assembles Spark from Maven, submits to it. Sourced after common.sh.
version=0.1.0-SNAPSHOT
plugin_jar=$root/shuffle-manager/spark/target/rdma-shuffle-spark-$version.jar
mapreduce_jar=$root/shuffle-manager/mapreduce/target/rdma-shuffle-mapreduce-$version.jar
integration_jar=$root/integration/target/rdma-shuffle-integration-$version.jar

# build [MODULE]: makes the jars of integration, or of integration/mapreduce, unless they are newer than every source. Tests are compiled by whoever runs them.
build() {
  local module=${1:-integration} jars=("$plugin_jar" "$integration_jar")
  [ "$module" = integration ] || jars=("$mapreduce_jar")
  local stamp=$root/$module/target/built log=$module/target/build.log
  if [ -f "$stamp" ] && ls "${jars[@]}" >/dev/null 2>&1 && [ -z "$(newer_sources "$stamp")" ]; then return; fi
  need_packages openjdk-17-jdk-headless maven cmake make gcc libc6-dev libibverbs-dev librdmacm-dev
  say "building (log: $log)"
  mkdir -p "$root/$module/target"
  touch "$stamp.started"
  (cd "$root" && mvn -q -B -Dstyle.color=never -pl "$module" -am -Dmaven.test.skip -DskipTests -Dspotless.check.skip package) >"$root/$log" 2>&1 ||
    { tail -20 "$root/$log" >&2; die "the build failed (log: $log)"; }
  mv "$stamp.started" "$stamp"
}

newer_sources() {
  find "$root"/pom.xml "$root"/{native,shuffle-manager/{core,spark,mapreduce},integration,integration/report,integration/mapreduce}/pom.xml "$root"/native/{CMakeLists.txt,src} \
    "$root"/{shuffle-manager/{core,spark,mapreduce},integration,integration/report,integration/mapreduce}/src/main -newer "$1" -type f -print -quit
}

# spark_home VERSION [SCALA]: sets SPARK_HOME to that Spark's jars, fetched from Maven the first time. VERSION is 3.5, 4.0, 4.1 or
# 4.2; SCALA is 2.13, and for 3.5 also 2.12. Only 4.2 can submit to YARN.
spark_home() {
  local release probe=spark-sql profile=()
  case $1 in
    3.5) release=3.5.9;;
    4.0) release=4.0.4;;
    4.1) release=4.1.3;;
    4.2) release=4.2.0 probe=spark-yarn profile=(-Pyarn);;
    *) die "no Spark version '$1'";;
  esac
  export SPARK_SCALA_VERSION=${2:-2.13} SPARK_HOME=$root/integration/target/spark-home-$release
  [ "$SPARK_SCALA_VERSION" = 2.13 ] || SPARK_HOME+=-scala-$SPARK_SCALA_VERSION
  ! ls "$SPARK_HOME/jars/$probe"_* >/dev/null 2>&1 || return 0
  need_packages openjdk-17-jdk-headless maven
  say "fetching Spark $release (Scala $SPARK_SCALA_VERSION)"
  rm -rf "$SPARK_HOME.part"
  mvn -q -B -Dstyle.color=never -f "$root/integration/src/main/spark-home/pom.xml" -Dspark.version="$release" -Dscala.binary.version="$SPARK_SCALA_VERSION" "${profile[@]}" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$SPARK_HOME.part/jars" >&2 || die "could not fetch Spark $release"
  rm -rf "$SPARK_HOME"
  mkdir -p "$SPARK_HOME"
  mv "$SPARK_HOME.part/jars" "$SPARK_HOME/jars"
  rmdir "$SPARK_HOME.part"
}

# hadoop_home VERSION: sets HADOOP_HOME to that Hadoop's jars, fetched from Maven the first time. VERSION is 3.4 or 3.5, which is the
# one that the jars are compiled against; so it comes after build integration/mapreduce, and must not compile them again.
hadoop_home() {
  local release
  case $1 in
    3.4) release=3.4.3;;
    3.5) release=3.5.0;;
    *) die "no Hadoop version '$1'";;
  esac
  export HADOOP_HOME=$root/integration/mapreduce/target/hadoop-$release
  local partial=$HADOOP_HOME.partial log=integration/mapreduce/target/hadoop.log # there while jars are missing
  [ ! -d "$HADOOP_HOME" ] || [ -e "$partial" ] || return 0
  say "fetching Hadoop $release (log: $log)"
  rm -rf "$HADOOP_HOME"
  touch "$partial"
  (cd "$root" && mvn -q -B -Dstyle.color=never -pl integration/mapreduce -am -Dmaven.main.skip -Dmaven.test.skip -Dspotless.check.skip \
    -Dhadoop.version="$release" process-classes) >"$root/$log" 2>&1 ||
    { tail -20 "$root/$log" >&2; die "could not fetch Hadoop $release"; }
  rm "$partial"
}

# spark_submit ARG…: what Spark's own bin/spark-submit does, in this process's place (call it in a sub-shell).
spark_submit() {
  local command
  { read -r _; mapfile -d '' -t command; } < <(
    java -Xmx128m -cp "$SPARK_HOME/jars/*" org.apache.spark.launcher.Main org.apache.spark.deploy.SparkSubmit "$@")
  exec "${command[@]}"
}
