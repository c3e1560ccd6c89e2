# shellcheck shell=bash
# Debian packages of any suite without touching the machine's apt: own sources, lists and cache; signatures are checked. Sourced.
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The site this machine's own sources name for Debian, or for its security updates: the project names none.
debian_site() {
  local kind='$1 !~ /-security$/'
  [[ $1 != *-security ]] || kind='$1 ~ /-security$/'
  apt-get indextargets --no-release-info --format '$(RELEASE) $(SITE)' 'Created-By: Packages' | awk "$kind && /debian/ && !found++ {print \$2}"
}

# open_archive DIR SUITE…: fetches the suites' indexes into DIR; private_apt uses them from then on.
open_archive() {
  archive=$1
  mkdir -p "$archive"/{lists,cache/archives}/partial
  local suite site
  for suite in "${@:2}"; do
    site=$(debian_site "$suite")
    [ -z "$site" ] || echo "deb [arch=amd64 signed-by=$keyring] $site $suite main"
  done >"$archive/sources.list"
  [ -s "$archive/sources.list" ] || die "this machine's apt sources name no Debian mirror"
  private_apt apt-get -qq --error-on=any update
}

private_apt() {
  "$1" -o Dir::Etc::sourcelist="$archive/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$archive/lists" \
    -o Dir::State::status=/dev/null -o Dir::Cache="$archive/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root \
    -o APT::Get::AllowUnauthenticated=false -o Acquire::AllowInsecureRepositories=false "${@:2}"
}

# fetch_packages DIR PACKAGE…: downloads them into DIR, installs nothing.
fetch_packages() { mkdir -p "$1" && (cd "$1" && private_apt apt-get -q download "${@:2}" >&2); }
