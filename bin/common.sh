# Shared by the scripts in bin/: messages and the packages they need. Sourced, never run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
# one_of OPTION VALUE 'A B…': misuse, which whoever sources this has, unless the value is one of these.
one_of() { case " $3 " in *" $2 "*) ;; *) misuse "$1 is one of ${3// /, }, not '$2'";; esac; }
die() { say "${0##*/}: $*"; exit 1; }

# need_packages PKG...: installs the Debian packages that are missing; without root, says the one line to run and ends.
need_packages() {
  find_missing "$@"
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "missing packages; run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
  install_missing || { tail -5 "$apt_log" >&2; die "could not install ${missing[*]} (log: $apt_log)"; }
}

# want_packages PKG...: the same for packages that are used where they are; what is not there makes a part be left out.
want_packages() {
  find_missing "$@"
  [ ${#missing[@]} = 0 ] || { [ "$(id -u)" = 0 ] && install_missing; } || say "going on without Debian packages: ${missing[*]}"
}

apt_log=/tmp/rdma-shuffle-apt.log

find_missing() {
  local pkg
  missing=()
  for pkg in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null)" = installed ] || missing+=("$pkg")
  done
}

install_missing() {
  say "installing Debian packages: ${missing[*]}"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$apt_log" 2>&1
}
