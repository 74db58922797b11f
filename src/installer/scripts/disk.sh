# The disks of the machine, and the choice of the one to write to.

# Ordered by kind, then by number: sdb before sdaa. Removable disks and disks on USB are left out.
disks() {
  local name
  for name in $(disk_names); do is_disk "$name" && echo "$name"; done
}

disk_names() {
  local kind
  for kind in vd xvd sd nvme mmcblk; do
    ls "$SYSFS/block" | grep -E "^$kind[a-z0-9]+\$" | awk '{ print length($0), $0 }' | sort -n | cut -d ' ' -f 2
  done
}

is_device() { [ -b "/dev/$1" ]; }

is_disk() {
  local sys="$SYSFS/block/$1" transport
  is_device "$1" || return 1
  [ "$(cat "$sys/ro")" = 0 ] || return 1
  [ "$(cat "$sys/size")" -gt 0 ] || return 1
  case $1 in *boot[0-9] | *rpmb) return 1 ;; esac
  transport=$(disk_transport "$1")
  [ "$transport" != usb ] || [ "$disk_usb" = yes ] || return 1
  [ "$(cat "$sys/removable")" = 0 ] || [ "$transport" = usb ]
}

# --- properties of a disk

disk_size() { echo $(($(cat "$SYSFS/block/$1/size") * 512)); }

# first_line <file> ...: the first line of the first file that has one, trimmed.
first_line() {
  local file line
  for file in "$@"; do
    line=$(head -c 256 "$file" 2> /dev/null | tr -cd '\040-\176\n' | head -n 1 | sed 's/^ *//; s/ *$//')
    [ -n "$line" ] && break
  done
  echo "$line"
}

disk_model() { first_line "$SYSFS/block/$1/device/model" "$SYSFS/block/$1/device/name"; }

# SCSI and ATA disks have it in a page of vital product data, after a header of four bytes.
disk_serial() {
  local page="$SYSFS/block/$1/device/vpd_pg80"
  if [ -e "$page" ]; then
    tail -c +5 "$page" | tr -cd '\040-\176' | sed 's/^ *//; s/ *$//'
  else
    first_line "$SYSFS/block/$1/serial" "$SYSFS/block/$1/device/serial"
  fi
}

disk_transport() {
  case $(readlink -f "$SYSFS/block/$1") in
    */usb[0-9]*) echo usb ;;
    */nvme[0-9]*) echo nvme ;;
    */ata[0-9]*) echo sata ;;
    */end_device-*) echo sas ;;
    */mmc_host/*) echo mmc ;;
    */virtio[0-9]*) echo virtio ;;
    *) echo scsi ;;
  esac
}

# For messages: vda (64 MiB, serial ABC).
disk_text() {
  local model serial
  model=$(disk_model "$1")
  serial=$(disk_serial "$1")
  echo "$1 ($(($(disk_size "$1") / 1048576)) MiB${model:+, model $model}${serial:+, serial $serial})"
}

disk_texts() {
  local name separator=''
  for name in $1; do
    printf '%s%s' "$separator" "$(disk_text "$name")"
    separator=', '
  done
}

# --- choosing the disk

# Disks appear one after the other: the list is complete when it has not changed for a second.
await_disks() {
  local attempt before
  before=none
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    found_disks=$(disks)
    [ -n "$found_disks" ] && [ "$found_disks" = "$before" ] && break
    before=$found_disks
    sleep 1
    load_drivers
  done
}

lower_case() { printf '%s' "$1" | tr 'A-Z' 'a-z'; }

# The server checks the pattern: its only special characters are * and ?.
is_like() {
  case $(lower_case "$1") in $(lower_case "$2")) return 0 ;; esac
  return 1
}

fits_rule() {
  local bytes
  bytes=$(disk_size "$1")
  [ -z "$wanted_disk" ] || [ "$1" = "$wanted_disk" ] || return 1
  [ -z "$disk_rule_model" ] || is_like "$(disk_model "$1")" "$disk_rule_model" || return 1
  [ -z "$disk_rule_serial" ] || is_like "$(disk_serial "$1")" "$disk_rule_serial" || return 1
  [ -z "$disk_rule_min" ] || [ "$bytes" -ge "$disk_rule_min" ] || return 1
  [ -z "$disk_rule_max" ] || [ "$bytes" -le "$disk_rule_max" ]
}

# Among disks of the same size the first in the list, so that the choice is deterministic.
picked_disk() {
  local name place=0
  for name in $1; do
    place=$((place + 1))
    echo "$(disk_size "$name") $place $name"
  done | case $disk_rule_pick in
    smallest) sort -n -k 1,1 -k 2,2 ;;
    largest) sort -k 1,1nr -k 2,2n ;;
    *) cat ;;
  esac | head -n 1 | cut -d ' ' -f 3
}

rule_text() {
  local rule="${wanted_disk:+disk $wanted_disk, }${disk_rule_model:+model $disk_rule_model, }"
  rule="$rule${disk_rule_serial:+serial $disk_rule_serial, }${disk_rule_min:+at least $disk_rule_min bytes, }"
  rule="$rule${disk_rule_max:+at most $disk_rule_max bytes, }"
  echo "${rule%, }"
}

choose_disk() {
  local name fitting=''
  [ -n "$found_disks" ] || fail 'no disk found'
  for name in $found_disks; do fits_rule "$name" && fitting="$fitting $name"; done
  disk=$(picked_disk "$fitting")
  [ -n "$disk" ] || fail "no disk is what the workflow asks for ($(rule_text)); there are: $(disk_texts "$found_disks")"
  disk_bytes=$(disk_size "$disk")
  say "disk $(disk_text "$disk"), $disk_bytes bytes"
}

expect_room() {
  [ "$disk_bytes" -ge "$1" ] || fail "the disk $disk is smaller than the image: $disk_bytes bytes, $1 needed"
}
