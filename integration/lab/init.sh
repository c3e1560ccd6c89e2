#!/bin/busybox sh
# First process of the guest, in its initramfs: puts an overlay on the host's files and goes there.
# Whatever fails here or in guest.sh ends process 1, hence a panic, hence QEMU; the console tells.
set -e
for tool in mount mkdir insmod chroot; do alias $tool="/bin/busybox $tool"; done
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done </modules/order
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro,noatime host /host
mount -t tmpfs -o size=75% overlay /overlay
mkdir /overlay/upper /overlay/work /overlay/root
mount -t overlay -o lowerdir=/host,upperdir=/overlay/upper,workdir=/overlay/work overlay /overlay/root
mount -t tmpfs run /overlay/root/run
mkdir /overlay/root/run/lab
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 control /overlay/root/run/lab
for fs in proc sys dev; do mount -o move /$fs /overlay/root/$fs; done
exec /bin/busybox chroot /overlay/root /bin/bash /run/lab/guest.sh
