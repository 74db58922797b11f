#!/bin/busybox sh
# The installer: the first and only program of the initramfs that a machine boots over the network. It fetches an
# image, verifies its SHA-256, writes it to the first disk, tells the server how that goes, and reboots.
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
set -f
set -o pipefail

MEMORY_RESERVE=$((64 * 1024 * 1024))
STALLED_AFTER=60
COMPLETE_FOR=1800

say() { echo "ingot-installer: $*"; }

uptime_seconds() {
  local up rest
  read -r up rest < /proc/uptime
  echo "${up%%.*}"
}

# --- what the server says on the kernel's command line

read_parameters() {
  url='' mac='' token='' image='' sha256='' size='' wanted_disk='' post=''
  for word in $(cat /proc/cmdline); do
    case $word in
      ingot.url=*) url=${word#*=} ;;
      ingot.mac=*) mac=$(printf '%s' "${word#*=}" | tr 'A-F-' 'a-f:') ;;
      ingot.token=*) token=${word#*=} ;;
      ingot.image=*) image=${word#*=} ;;
      ingot.sha256=*) sha256=$(printf '%s' "${word#*=}" | tr 'A-F' 'a-f') ;;
      ingot.size=*) size=${word#*=} ;;
      ingot.disk=*) wanted_disk=${word#*=} ;;
      ingot.post=*) post=${word#*=} ;;
    esac
  done
  url=${url%/}
  wanted_disk=${wanted_disk#/dev/}
}

check_parameters() {
  case $image in http://* | https://*) ;; *) fail "the command line names no image: ingot.image=$image" ;; esac
  case $sha256 in *[!0-9a-f]*) sha256='' ;; esac
  [ "${#sha256}" = 64 ] || fail 'the command line names no digest: ingot.sha256 must be 64 hexadecimal digits'
  case $size in '' | 0* | *[!0-9]*) fail "the command line names no size: ingot.size=$size" ;; esac
  case $wanted_disk in */* | .*) fail "not the name of a disk: ingot.disk=$wanted_disk" ;; esac
}

# --- drivers and network

# Devices that a bus finds may be buses themselves, hence the rounds.
load_drivers() {
  local round
  for round in 1 2 3; do
    find /sys/devices -name modalias -exec cat {} + 2> /dev/null | sort -u > /tmp/modaliases
    cmp -s /tmp/modaliases /tmp/modaliases.before && return
    xargs modprobe -q -a < /tmp/modaliases 2> /dev/null
    mv /tmp/modaliases /tmp/modaliases.before
    sleep 0.2
  done
}

interfaces() {
  local name
  for name in $(ls /sys/class/net); do
    [ "$name" = lo ] && continue
    [ -e "/sys/class/net/$name/device" ] || continue
    [ "$1" = any ] || [ "$(cat "/sys/class/net/$name/address")" = "$mac" ] || continue
    echo "$name"
  done
}

# The interface that the machine booted from; the others only when there is no such one.
connect() {
  local attempt name
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    [ -n "$(interfaces booted)" ] && break
    sleep 1
    load_drivers
  done
  for name in $(interfaces booted) $(interfaces any); do
    ip link set "$name" up
    # Stays in the background, to renew the lease. Ports of a switch may take half a minute to forward.
    if udhcpc -i "$name" -n -t 25 -T 2 -s /bin/udhcpc-event > /tmp/udhcpc.log 2>&1; then
      interface=$name
      return 0
    fi
    say "no DHCP answer on $name"
  done
  return 1
}

# --- reports

# A string of JSON, without its quotes: printable ASCII alone, so that only two characters need care.
json_text() { printf '%s' "$1" | tr -s '\n\t' '  ' | tr -cd '\040-\176' | cut -c 1-500 | sed 's/\\/\\\\/g; s/"/\\"/g'; }

json_fact() {
  [ -n "$2" ] && printf ',"%s":"%s"' "$1" "$(json_text "$2")"
}

dmi() { cat "/sys/class/dmi/id/$1" 2> /dev/null; }

gather_facts() {
  facts=$(
    json_fact ip_address "$(ip -4 -o addr show dev "$interface" | sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1)"
    json_fact hostname "$(cat /tmp/dhcp-hostname 2> /dev/null)"
    json_fact vendor "$(dmi sys_vendor)"
    json_fact model "$(dmi product_name)"
    json_fact serial_number "$(dmi product_serial)"
    json_fact system_uuid "$(dmi product_uuid)"
  )
}

# report <status> <percent> <seconds to go on trying> [<error>]
# 0: delivered. 1: not delivered. 2: the server wants no installation from this boot.
report() {
  local give_up pause
  {
    printf '{"mac_address":"%s"%s' "$(json_text "$mac")" "$facts"
    printf ',"installation_status":"%s","installation_progress":%d' "$1" "$2"
    json_fact installation_error "$4"
    printf '}'
  } > /tmp/report
  give_up=$(($(uptime_seconds) + $3))
  pause=1
  while :; do
    timeout 20 wget -q -O /dev/null --header "Authorization: Bearer $token" \
      --header 'Content-Type: application/json' --post-file /tmp/report "$url/api/v1/report" \
      2> /tmp/report.error && return 0
    say "report '$1' was not delivered: $(cat /tmp/report.error)"
    grep -q -E 'HTTP/1\.[01] (401|403|409|410)' /tmp/report.error && return 2
    [ "$(uptime_seconds)" -ge "$give_up" ] && return 1
    sleep "$pause"
    pause=$((pause < 16 ? pause * 2 : 30))
  done
}

restart() {
  sync
  sleep "$1"
  reboot -f
  # The kernel may take a moment, and this process must not end before.
  sleep 1000
}

fail() {
  say "failed: $1"
  report failed "$percent" 60 "$1"
  restart 5
}

# --- work that takes long is done in the background, and followed

# in_background <command> …: its exit code will be in /tmp/ended.
in_background() {
  rm -f /tmp/ended
  {
    "$@"
    echo "$?" > /tmp/ended.draft
    mv /tmp/ended.draft /tmp/ended
  } &
}

# follow <percent at the start> <at the end> <total bytes> <what prints the bytes so far>
follow() {
  local seen='' idle=0 bytes now
  while :; do
    # Often, for short waits; what is below happens once a second.
    for now in 1 2 3 4 5; do
      [ -s /tmp/ended ] && break 2
      sleep 0.2
    done
    bytes=$("$4")
    if [ "${bytes:-0}" = "$seen" ]; then
      idle=$((idle + 1))
      # This build of wget has no time limit of its own.
      [ "$idle" = "$STALLED_AFTER" ] && killall wget 2> /dev/null
    else
      idle=0
      seen=${bytes:-0}
    fi
    now=$(($1 + ($2 - $1) * seen / $3))
    [ "$now" -gt "$2" ] && now=$2
    if [ "$now" -gt "$percent" ]; then
      percent=$now
      report progress "$percent" 0
    fi
  done
  return "$(cat /tmp/ended)"
}

bytes_in_memory() { stat -c %s /image/packed 2> /dev/null; }
bytes_hashed() { sed -n 's/^rchar: //p' "/proc/$(pidof sha256sum | cut -d ' ' -f 1)/io" 2> /dev/null; }
bytes_written() { sed -n 's/^wchar: //p' "/proc/$(pidof dd | cut -d ' ' -f 1)/io" 2> /dev/null; }

# --- the image

# The token is for the server that gave it, and for nobody else.
fetch() {
  case $image in
    "$url"/*) wget -q --header "Authorization: Bearer $token" "$@" "$image" 2> /tmp/fetch.error ;;
    *) wget -q "$@" "$image" 2> /tmp/fetch.error ;;
  esac
}

fetch_error() {
  local reason
  reason=$(head -n 1 /tmp/fetch.error)
  echo "download failed: ${reason:-the connection ended early or stood still}"
}

is_packed() { [ "$(head -c 2 | od -An -tx1 | tr -d ' \n')" = 1f8b ]; }

unpack() {
  if [ "$packed" = yes ]; then gunzip -c; else cat; fi
}

fits_into_memory() {
  memory=$(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) * 1024))
  [ $((size + size / 10 + MEMORY_RESERVE)) -lt "$memory" ]
}

expect_digest() {
  [ "$1" = "$sha256" ] || fail "image digest mismatch: expected $sha256 got $1"
}

fetch_into_memory() {
  local attempt
  mkdir -p /image
  mount -t tmpfs -o "size=$((size + 1048576)),mode=700" image /image
  for attempt in 1 2 3 4 5; do
    in_background fetch -c -O /image/packed
    follow 0 50 "$size" bytes_in_memory && break
    [ "$attempt" = 5 ] && fail "$(fetch_error)"
    say "$(fetch_error); once more"
    sleep "$attempt"
  done
  digest=$(sha256sum /image/packed | cut -d ' ' -f 1)
  expect_digest "$digest"
  packed=no
  is_packed < /image/packed && packed=yes
  bytes=$(unpack < /image/packed | wc -c) || fail 'the image is not a whole gzip file'
}

hash_stream() { fetch -O - | tee /tmp/unpacking | /bin/sha256sum > /tmp/digest; }

# Reads to the end even when there is nothing to unpack, so that the digest is that of the whole image.
count_stream() {
  {
    unpack || touch /tmp/not-whole
    cat > /dev/null
  } < /tmp/unpacking | wc -c > /tmp/bytes
}

hash_without_keeping() {
  local attempt
  packed=no
  fetch -O - | is_packed && packed=yes
  mkfifo /tmp/unpacking /tmp/hashing
  for attempt in 1 2 3; do
    rm -f /tmp/not-whole
    count_stream &
    counting=$!
    in_background hash_stream
    follow 0 50 "$size" bytes_hashed && break
    [ "$attempt" = 3 ] && fail "$(fetch_error)"
    say "$(fetch_error); once more"
    sleep "$attempt"
  done
  wait "$counting"
  expect_digest "$(cut -d ' ' -f 1 /tmp/digest)"
  [ -e /tmp/not-whole ] && fail 'the image is not a whole gzip file'
  bytes=$(cat /tmp/bytes)
}

# --- the disk

# By kind, then by number: sdb before sdaa. What is removable, or hangs on USB, is somebody's stick.
disks() {
  local kind name
  for kind in vd xvd sd nvme mmcblk; do
    for name in $(ls /sys/block | grep -E "^$kind[a-z0-9]+\$" | awk '{ print length($0), $0 }' | sort -n | cut -d ' ' -f 2); do
      is_disk "$name" && echo "$name"
    done
  done
}

is_disk() {
  local sys="/sys/block/$1"
  [ -b "/dev/$1" ] || return 1
  [ "$(cat "$sys/removable")$(cat "$sys/ro")" = 00 ] || return 1
  [ "$(cat "$sys/size")" -gt 0 ] || return 1
  case $1 in *boot[0-9] | *rpmb) return 1 ;; esac
  case $(readlink -f "$sys") in */usb[0-9]*) return 1 ;; esac
}

# Disks may turn up one after the other: the list counts once it has stood still for a second.
choose_disk() {
  local attempt before found
  before=none
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    found=$(disks)
    [ -n "$found" ] && [ "$found" = "$before" ] && break
    before=$found
    sleep 1
    load_drivers
  done
  disk=$(echo "$found" | head -n 1)
  if [ -n "$wanted_disk" ]; then
    disk=$(echo "$found" | grep -x -F -e "$wanted_disk")
    [ -n "$disk" ] || fail "there is no disk $wanted_disk, only: $(echo $found)"
  fi
  [ -n "$disk" ] || fail 'no disk found'
  disk_bytes=$(($(cat "/sys/block/$disk/size") * 512))
  say "disk $disk, $disk_bytes bytes"
}

expect_room() {
  [ "$disk_bytes" -ge "$1" ] || fail "the disk $disk is smaller than the image: $disk_bytes bytes, $1 needed"
}

onto_disk() { /bin/dd of="/dev/$disk" bs=1M iflag=fullblock conv=fsync,notrunc status=none 2> /tmp/write.error; }

# What an earlier system left at the very end (a second partition table, RAID metadata) must not outlive it.
clear_end_of_disk() {
  local mebibytes=$((disk_bytes / 1048576))
  dd if=/dev/zero of="/dev/$disk" bs=1M seek=$((mebibytes - 1)) conv=notrunc status=none 2> /dev/null
}

write_kept() { unpack < /image/packed | onto_disk; }
write_stream() { fetch -O - | tee /tmp/hashing | unpack | onto_disk; }

write_image() {
  clear_end_of_disk
  if [ "$kept" = yes ]; then
    in_background write_kept
    follow 50 99 "$bytes" bytes_written || fail "writing to $disk failed: $(head -n 1 /tmp/write.error)"
    return
  fi
  sha256sum < /tmp/hashing > /tmp/digest &
  hashing=$!
  in_background write_stream
  follow 50 99 "$bytes" bytes_written
  written=$?
  wait "$hashing"
  digest=$(cut -d ' ' -f 1 /tmp/digest)
  [ "$written" = 0 ] && [ "$digest" = "$sha256" ] && return
  dd if=/dev/zero of="/dev/$disk" bs=1M count=1 conv=fsync,notrunc status=none
  [ "$written" = 0 ] || fail "writing to $disk failed: $(cat /tmp/write.error /tmp/fetch.error | head -n 1)"
  expect_digest "$digest"
}

# --- in this order

install() {
  check_parameters
  choose_disk
  expect_room 1
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
  say "the digest is right; writing $bytes bytes to $disk"
  write_image
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
read_parameters
say "for $mac"
load_drivers
if ! connect; then
  say 'failed: no network'
  restart 10
fi
gather_facts
report started 0 20
if [ "$?" = 2 ]; then
  say 'the server wants no installation from this boot: nothing was written'
  restart 30
fi
install
say 'installed'
report complete 100 "$COMPLETE_FOR"
if [ "$post" = poweroff ]; then
  sync
  poweroff -f
  sleep 1000
fi
restart 0
