# shellcheck shell=bash disable=SC2154 # the options are set by bin/lab
# The guest itself: QEMU in software emulation, the host's files by 9p, a control directory for what goes in and comes out. Sourced.

# run_guest KERNEL_DIR CMD [ARG…]: ends the script with CMD's exit code.
run_guest() {
  need_packages qemu-system-x86 cpio kmod rdma-core ibverbs-providers rdmacm-utils ibverbs-utils perftest iproute2
  dir=$1 release=${1##*/} guest='' readers=()
  tmp=$(mktemp -d "${TMPDIR:-/tmp}/rdma-shuffle-lab.XXXXXX")
  control=$tmp/control
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  say "lab: booting $release (link $link, hosts $hosts)"
  write_control "${@:2}"
  started=$EPOCHREALTIME
  boot
  stream
  local status=0
  wait "$guest" || status=$?
  guest=
  wait "${readers[@]}" || true
  report "$status"
}

clean_up() {
  [ -z "$guest" ] || kill "$guest" "${readers[@]}" 2>/dev/null || true
  wait
  rm -rf "$tmp"
}

# write_control CMD [ARG…]: all the guest is told, as shell code.
write_control() {
  local name
  mkdir "$control"
  cp "$lab/guest.sh" "$lab/link.sh" "$control"
  printf '%s=%q\n' modules "$dir/lib/modules/$release" siw "$dir/siw.ko" link "$link" hosts "$hosts" share "$share" >"$control/settings"
  {
    for name in HOME PATH LANG JAVA_HOME "${passed[@]}"; do
      [ -z "${!name+set}" ] || printf 'export %s=%q\n' "$name" "${!name}"
    done
    printf 'PATH+=:/usr/sbin:/sbin\ncd %q && exec' "$PWD"
    printf ' %q' "$@"
    echo
  } >"$control/command"
  mkdir "$tmp/init"
  cp "$lab/init.sh" "$tmp/init/init"
  chmod +x "$tmp/init/init"
  { cat "$dir/boot.cpio"; (cd "$tmp/init" && echo init | cpio -o -H newc --quiet -R 0:0); } >"$tmp/initramfs"
  touch "$tmp/stdout" "$tmp/stderr" "$tmp/console"
}

# drive NAME DIR [OPTION]: a host directory as a 9p device.
drive() {
  qemu+=(-fsdev "local,id=$1,path=${2//,/,,},security_model=none,multidevs=remap${3-}" -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

# stream_port NUMBER NAME: an output of the command. A file never makes QEMU wait, so nothing is lost when it leaves.
stream_port() {
  qemu+=(-chardev "file,id=$2,path=${tmp//,/,,}/$2" -device "virtserialport,chardev=$2,nr=$1")
}

boot() {
  local qemu=(qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot
    -machine "q35,hpet=off" -accel "tcg,thread=multi,tb-size=1024" -smp "$cpus" -m "${memory}M"
    # erms and fsrm would make the kernel copy by "rep movsb", which is emulated byte by byte
    -cpu "max,-erms,-fsrm"
    -kernel "$dir/vmlinux" -initrd "$tmp/initramfs" -serial "file:${tmp//,/,,}/console"
    # no_timer_check: the check panics now and then on a loaded host; tsc=reliable: the other clocks are slow here
    -append "console=ttyS0 quiet panic=-1 mitigations=off nopti nokaslr init_on_alloc=0 cryptomgr.notests random.trust_cpu=1 tsc=reliable no_timer_check"
    -device "isa-debug-exit,iobase=0xf4,iosize=1" -device virtio-serial-pci)
  stream_port 1 stdout
  stream_port 2 stderr
  drive host / ,readonly=on
  drive control "$control"
  [ -z "$share" ] || drive share "$share"
  setpriv --pdeathsig TERM timeout -k 5 "$timeout" "${qemu[@]}" </dev/null >"$tmp/qemu" 2>&1 &
  guest=$!
}

# stream: what the command writes, as it comes, until the guest is gone and all is out.
stream() {
  setpriv --pdeathsig TERM tail -q -c +1 -f -s 0.1 --pid "$guest" "$tmp/stdout" &
  readers+=($!)
  setpriv --pdeathsig TERM tail -q -c +1 -f -s 0.1 --pid "$guest" "$tmp/stderr" >&2 &
  readers+=($!)
}

# report QEMU_STATUS: the closing line, the JSON, the exit code.
report() {
  local code=125 outcome=died boot_s=null total_s
  total_s=$(seconds "$EPOCHREALTIME")
  [ ! -e "$control/started" ] || boot_s=$(seconds "$(stat -c %.6Y "$control/started")")
  if [ -s "$control/exit" ]; then
    code=$(<"$control/exit") outcome=finished
  elif [ "$1" = 124 ]; then
    code=124 outcome=timeout
  fi
  [ $outcome != died ] || { say 'lab: the guest died; its last words:'; tail -q -n 40 "$tmp/qemu" "$tmp/console" >&2; }
  say "lab: $outcome, exit $code after $total_s s (boot $boot_s s) on $release, link $link, hosts $hosts"
  [ -z "$json" ] || printf '{"outcome":"%s","exit":%d,"kernel":"%s","link":"%s","hosts":%d,"boot_s":%s,"total_s":%s}\n' \
    $outcome "$code" "$release" "$link" "$hosts" "$boot_s" "$total_s" >"$json"
  exit "$code"
}

# seconds TIME: since the start of the guest.
seconds() { awk -v now="$1" -v start="$started" 'BEGIN {printf "%.1f", now - start}'; }
