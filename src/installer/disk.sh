# The disk: chosen, and written.

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
