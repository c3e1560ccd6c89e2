# Shared by the scripts in bin/: messages and the packages they need. Sourced, never run.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 1; }

# need_packages PKG...: installs the Debian packages that are missing; without root, says the one line to run and ends.
need_packages() {
  local missing=() pkg
  for pkg in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$pkg" 2>/dev/null)" = installed ] || missing+=("$pkg")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "missing packages; run: sudo apt-get install -y --no-install-recommends ${missing[*]}"
  say "installing Debian packages: ${missing[*]}"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >/tmp/rdma-shuffle-apt.log 2>&1 ||
    { tail -5 /tmp/rdma-shuffle-apt.log >&2; die "could not install ${missing[*]} (log: /tmp/rdma-shuffle-apt.log)"; }
}
