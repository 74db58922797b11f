#!/bin/busybox sh
# The installer: the first program of the initramfs that a machine boots over the network. It fetches an image,
# verifies its SHA-256, writes it to a disk, reports to the server how that goes, and reboots. Or, where the server says so,
# it erases all disks and switches the machine off: see erase.sh.
#
# What it keeps to:
# - Nothing is written before the whole image has been seen to have the digest that the server named. An image that
#   fits into memory is kept there between the check and the writing. One that does not is fetched twice: the second
#   time it is hashed again while it is written, and a disk that got something else is made unbootable.
# - A report that can't be delivered stops nothing. One that the server refuses does, as long as nothing is written:
#   a boot that has been overtaken must not erase a machine.
# - The command line is data. Its words are never evaluated, and become neither file names nor options.
# - Whatever goes wrong is reported with its reason, and the machine reboots. How often to try is the server's business.

export PATH=/bin
set -o pipefail

COMPLETE_FOR=1800
SYSFS=/sys
PROCFS=/proc

say() { echo "ingot-installer: $*"; }

uptime_seconds() {
  local up rest
  read -r up rest < /proc/uptime
  echo "${up%%.*}"
}

# Each of these files has the functions of one noun, and does nothing when it is read.
for part in /installer/*.sh; do . "$part"; done
set -f

install() {
  check_parameters
  choose_disk
  expect_room 1
  fetch_seed
  if fits_into_memory; then
    kept=yes
    say "fetching $image into memory, $size bytes"
    fetch_into_memory
  else
    kept=no
    say "fetching $image twice, for $size bytes do not fit into the $memory bytes of free memory"
    hash_without_keeping
  fi
  [ "$bytes" -gt 0 ] || fail 'the image is empty'
  expect_room "$bytes"
  expect_seed_room
  say "the digest is right; writing $bytes bytes to $disk"
  write_image
  place_seed
}

/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
# Should this script end, which it never should, the kernel panics; then the machine starts over.
echo 10 > /proc/sys/kernel/panic
echo 4 > /proc/sys/kernel/printk

percent=0
facts=''
evidence=''
inventory=''
woken_nics=''
read_parameters
say "for $mac"
load_drivers
if ! connect; then
  say 'failed: no network'
  restart 10
fi
gather_facts
wake_nics
await_disks
take_inventory
settle_nics
report started 0 20
if [ "$?" = 2 ]; then
  say 'the server wants no installation from this boot: nothing was written'
  restart 30
fi
check_words
case $mode in
  install)
    install
    say 'installed'
    ;;
  erase)
    post=poweroff
    erase_all
    say 'erased'
    ;;
  *) fail "there is no mode $mode" ;;
esac
# A machine that is off can't say again that it is erased.
report complete 100 "$COMPLETE_FOR" || [ "$mode" = install ] || post=reboot
if [ "$post" = poweroff ]; then
  sync
  poweroff -f
  sleep 1000
fi
restart 0
