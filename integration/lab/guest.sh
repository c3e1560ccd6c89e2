# shellcheck shell=bash disable=SC2154 # the settings are written by machine.sh
# Process 1 of the guest once the host's files are there: devices, limits, network, then the command, then out.
set -e
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
. /run/lab/settings    # modules, siw, link, hosts, share

mkdir -p /dev/pts /dev/shm "/lib/modules/$(uname -r)"
mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -sf "/proc/self/fd/${n%:*}" "/dev/${n#*:}"; done
mount --bind "$modules" "/lib/modules/$(uname -r)"
if [ -n "$share" ]; then
  mkdir -p /share
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap share /share
  export LAB_SHARE=/share
fi
ulimit -l unlimited -n 65536

. /run/lab/link.sh
: >/run/lab/started
rc=0
setsid bash /run/lab/command </dev/null >/dev/vport*p1 2>/dev/vport*p2 || rc=$?
sync
echo "$rc" >/run/lab/exit
printf '\0' | dd of=/dev/port bs=1 seek=$((0xf4)) status=none    # isa-debug-exit: QEMU leaves at once
