#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# The guest's first process: loads the modules, makes the host's root, read-only with a layer above, its own, and hands
# over to the agent. A word urxe.share=TAG:DIRECTORY of the kernel's command line is a share to mount there besides.
set -e
export PATH=/bin
b=/bin/busybox
trap '$b echo "the guest cannot start"; $b poweroff -f' EXIT
$b mount -t devtmpfs devtmpfs /dev
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
for module in /modules/*; do
  $b insmod "$module" || $b echo "cannot load $module"
done
share="trans=virtio,version=9p2000.L,msize=512000,ro"
$b mount -t 9p -o "$share,cache=loose" host /host
$b mount -t tmpfs -o mode=755 scratch /scratch
$b mkdir /scratch/upper /scratch/work
$b mount -t overlay -o lowerdir=/host,upperdir=/scratch/upper,workdir=/scratch/work overlay /root
for word in $($b cat /proc/cmdline); do
  case "$word" in
    urxe.share=*)
      word=${word#urxe.share=}
      $b mkdir -p "/root${word#*:}"
      $b mount -t 9p -o "$share,cache=mmap" "${word%%:*}" "/root${word#*:}"
      ;;
  esac
done
$b mount -t devtmpfs devtmpfs /root/dev
$b mkdir -p /root/dev/pts /root/dev/shm
$b mount -t devpts devpts /root/dev/pts
$b mount -t tmpfs -o mode=1777 shm /root/dev/shm
$b mount -t proc proc /root/proc
$b mount -t sysfs sysfs /root/sys
$b mount -t tmpfs -o mode=755 run /root/run
$b cp /agent.py /bin/busybox /root/run/
$b hostname guest
cd /
trap - EXIT
exec $b switch_root /root /usr/bin/python3 -I -S -B /run/agent.py /dev/vport*p1
