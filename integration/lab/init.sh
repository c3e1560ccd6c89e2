#!/bin/busybox sh
# shellcheck shell=dash
# First process of the guest, in its initramfs: puts an overlay on the host's files and goes there.
# Whatever fails here or in guest.sh ends process 1, hence a panic, hence QEMU; the console tells.
set -e
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/modules/$module"; done </modules/order
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro,noatime host /host
$b mount -t tmpfs -o size=75% overlay /overlay
$b mkdir /overlay/upper /overlay/work /overlay/root
$b mount -t overlay -o lowerdir=/host,upperdir=/overlay/upper,workdir=/overlay/work overlay /overlay/root
$b mount -t tmpfs run /overlay/root/run
$b mkdir /overlay/root/run/lab
$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 control /overlay/root/run/lab
for fs in proc sys dev; do $b mount -o move /$fs /overlay/root/$fs; done
exec $b chroot /overlay/root /bin/bash /run/lab/guest.sh
