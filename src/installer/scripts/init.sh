#!/bin/busybox sh
# The installer: the first process of the initramfs that a machine boots over the network or from a disc. It fetches an image, verifies its
# SHA-256, writes it to a disk, reports its progress to the server, and reboots. In the mode `erase` it erases all disks and
# powers the machine off: see erase.sh. In the mode `burn-in` it tests the machine and writes nothing: see burn-in.sh.
#
# Rules:
# - Nothing is written before the digest of the whole image is verified. An image that fits into memory stays there between
#   the check and the writing. A larger one is fetched twice: the second time it is hashed again while it is written, and if
#   the digest differs, the disk is made unbootable.
# - A report that can't be delivered stops nothing. A report that the server refuses stops the installation, as long as nothing
#   is written: an outdated boot must not overwrite a machine.
# - The command line is data. Its words are never evaluated, and become neither file names nor options.
# - Every failure is reported with its reason, and the machine reboots. The server decides how often to retry.

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

# Each of these files defines the functions of one noun, and runs nothing when it is sourced.
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
  prove_written
  place_seed
}

/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
# If this script ever ends, the kernel panics, and the machine reboots.
echo 10 > /proc/sys/kernel/panic
echo 4 > /proc/sys/kernel/printk

percent=0
facts=''
evidence=''
inventory=''
woken_nics=''
report_to=report
burn_root=''
read_parameters "$PROCFS/cmdline"
say "for $mac"
load_drivers
if ! connect; then
  say 'failed: no network'
  restart 10
fi
[ -z "$once" ] || fetch_parameters
[ "$mode" = burn-in ] && report_to=burn-in
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
  burn-in)
    post=reboot
    burn_in
    say 'tested'
    ;;
  *) fail "there is no mode $mode" ;;
esac
# A machine that is off can't repeat its report, so an undelivered one leads to a reboot.
report complete 100 "$COMPLETE_FOR" || [ "$mode" = install ] || post=reboot
if [ "$post" = poweroff ]; then
  sync
  poweroff -f
  sleep 1000
fi
restart 0
