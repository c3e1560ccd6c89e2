# shellcheck shell=bash
# Kernels for the guest, one folder each in the state directory: vmlinux, lib/modules, boot.cpio, siw.ko. Sourced.
state=$(realpath -m "${RDMA_SHUFFLE_LAB_DIR:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/rdma-shuffle/lab}")

# find_kernel SERIES LINK: folder of the newest kernel that is ready for the link; prints nothing when there is none.
find_kernel() {
  local file=vmlinux
  [ "$2" != siw ] || file=siw.ko
  { compgen -G "$state/$1.*/$file" || true; } | sort -V | tail -n 1 | sed 's,/[^/]*$,,'
}

# setup_kernel SERIES LINK: builds in a folder of its own and renames, so an interrupted set-up leaves nothing half done.
setup_kernel() {
  need_packages debian-archive-keyring busybox-static cpio kmod xz-utils zstd
  mkdir -p "$state"
  exec 9>"$state/.lock"
  flock -n 9 || { say "lab: waiting for another set-up to end"; flock 9; }
  rm -rf "$state"/.new.*    # left by a set-up that was killed: whoever holds the lock is the only one
  new=$(mktemp -d "$state/.new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  say "lab: looking for Debian's newest $1 kernel"
  case $1 in
    6.1) open_archive "$new/apt" bookworm bookworm-security;;
    7) open_archive "$new/apt" trixie-backports;;
  esac
  release=$(private_apt apt-cache pkgnames "linux-image-$1." | sed -nE 's/^linux-image-([0-9.]+[-+][a-z0-9]+-amd64)$/\1/p' | sort -V | tail -n 1)
  [ -n "$release" ] || die "no $1 kernel in Debian's archive"
  [ -e "$state/$release/vmlinux" ] || build_kernel
  [ "$2" != siw ] || [ -e "$state/$release/siw.ko" ] || build_siw
  say "lab: kernel $release is ready for link $2 in $state"
  [ -z "$json" ] || printf '{"kernel":"%s","link":"%s"}\n' "$release" "$2" >"$json"
}

build_kernel() {
  local raw=$new/raw dir=$new/kernel packages deb
  # one package until 6.x, split into binary, modules and base since
  packages=$(private_apt apt-cache depends -i "linux-image-$release" | awk -v release="-$release" 'index($NF, release) {print $NF}')
  say "lab: fetching" $packages
  fetch_packages "$new/debs" $packages
  say "lab: unpacking the kernel"
  for deb in "$new"/debs/*.deb; do dpkg-deb -x "$deb" "$raw"; done
  pick_modules "$raw" "$dir/lib/modules/$release"
  depmod -b "$dir" "$release"
  extract_vmlinux "$(find "$raw" -name 'vmlinuz*' -type f)" >"$dir/vmlinux"
  pack_boot "$dir" >"$dir/boot.cpio"
  mv -T "$dir" "$state/$release"
}

# pick_modules RAW DIR: the modules a guest may want, a third of all.
pick_modules() {
  local from=$1/lib/modules/$release
  [ -d "$from" ] || from=$1/usr/lib/modules/$release
  mkdir -p "$2"
  (cd "$from" && cp -rl --parents modules.builtin* modules.order kernel/{arch,crypto,fs,lib,net} \
    kernel/drivers/{block,char,infiniband,virtio} kernel/drivers/net/{dummy,tun,veth}.ko* "$2")
}

# extract_vmlinux BZIMAGE: its payload. QEMU enters it by its PVH note, so that no emulated processor has to decompress it.
extract_vmlinux() {
  # Linux boot protocol: setup_sects at 0x1f1, payload_offset at 0x248, payload_length at 0x24c; the last 4 bytes are a length
  local sectors offset length unpack=(xz -dc)
  sectors=$(od -An -tu1 -j$((0x1f1)) -N1 "$1")
  offset=$(od -An -tu4 -j$((0x248)) -N4 "$1")
  length=$(od -An -tu4 -j$((0x24c)) -N4 "$1")
  payload() { tail -c +$(((sectors + 1) * 512 + offset + 1)) "$1" | head -c $((length - 4)) || true; }
  [ "$(payload "$1" | od -An -tx4 -N4 | tr -d ' ')" != fd2fb528 ] || unpack=(zstd -dcq)
  payload "$1" | "${unpack[@]}"
}

# pack_boot DIR: the initramfs without its init: busybox and, in loading order, the modules that reach the host's files.
pack_boot() {
  local tree=$new/boot module path name
  mkdir -p "$tree"/{bin,modules,proc,sys,dev,host,overlay}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  for module in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
    modprobe -d "$1" -S "$release" --show-depends "$module"
  done | sed -n 's/^insmod \(.*[^ ]\) *$/\1/p' | awk '!seen[$0]++' | while read -r path; do
    name=${path##*/}
    case $path in *.xz) xz -dc "$path" >"$tree/modules/${name%.xz}";; *) cp "$path" "$tree/modules/";; esac
    echo "${name%.xz}" >>"$tree/modules/order"
  done
  (cd "$tree" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0)
}

# siw (soft-iWARP) is left out of Debian's configuration: build it out of tree from Debian's own source of that kernel.
build_siw() {
  local source=linux-source-6.1 headers=$new/headers siw=$new/siw deb
  need_packages gcc-12 make libc6-dev libelf1
  say "lab: fetching the kernel's source and headers (150 MB) for soft-iWARP"
  fetch_packages "$new/source" "$source"
  fetch_packages "$new/build" "linux-headers-$release" "linux-headers-${release%-amd64}-common" linux-kbuild-6.1
  say "lab: unpacking soft-iWARP"
  dpkg-deb --fsys-tarfile "$new"/source/*.deb | tar -xO "./usr/src/$source.tar.xz" | xz -dc |
    tar -x -C "$new" "$source/drivers/infiniband/sw/siw"
  for deb in "$new"/build/*.deb; do dpkg-deb -x "$deb" "$headers"; done
  sed -i "s,include /usr/src,include $headers/usr/src," "$headers/usr/src/linux-headers-$release/Makefile"
  say "lab: compiling soft-iWARP"
  mv "$new/$source/drivers/infiniband/sw/siw" "$siw"
  make -s -j2 -C "$headers/usr/src/linux-headers-$release" M="$siw" CONFIG_RDMA_SIW=m modules >&2
  strip -d "$siw/siw.ko"
  mv "$siw/siw.ko" "$state/$release/siw.ko"
}
