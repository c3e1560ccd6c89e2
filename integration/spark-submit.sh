#!/usr/bin/env bash
# spark-submit of a Spark that is fetched from Maven: spark-submit.sh VERSION ARG…, VERSION being 3.5, 4.0, 4.1 or 4.2, of which the last can submit to YARN.
set -u -o pipefail
. "$(dirname "$(readlink -f "$0")")/../bin/common.sh"
. "$root/bin/build.sh"
[ $# -gt 0 ] || { say 'spark-submit.sh VERSION ARG…'; exit 2; }
spark_home "$1"
shift
spark_submit --conf spark.yarn.jars="local:$SPARK_HOME/jars/*" "$@"
