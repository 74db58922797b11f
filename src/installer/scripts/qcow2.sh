# Images in the format qcow2. They can't be streamed, because a qcow2 file needs random access.
#
# A malicious image can refer to other files, which are read when it is opened (CVE-2024-32498). The server refuses such images;
# here the header is checked again, in the bytes with the verified digest, before qemu-img opens the file.

# number_at <file> <offset> <bytes>: a big-endian number, in hexadecimal digits.
number_at() { dd if="$1" bs=1 skip="$2" count="$3" 2> /dev/null | od -An -v -tx1 | tr -d ' \n'; }

qcow2_problem() {
  local version features
  version=$(number_at "$1" 4 4)
  case $version in 00000002 | 00000003) ;; *) echo "its version is 0x$version" ;; esac
  [ "$(number_at "$1" 8 12)" = 000000000000000000000000 ] || echo 'it has a backing file'
  [ "$(number_at "$1" 32 4)" = 00000000 ] || echo 'it is encrypted'
  [ "$version" = 00000003 ] || return 0
  # Bits of the last byte: 1 corrupt, 2 external data file; those above 4 are unknown.
  features=$(number_at "$1" 72 8)
  case $features in 000000000000000[0189] | 000000000000001[0189]) ;; *) echo "its features are 0x$features" ;; esac
}

# Sets $bytes, the virtual size of the disk.
judge_qcow2() {
  local problem
  [ -x /bin/qemu-img ] || fail 'the image is qcow2, and this installer was built without qemu-img'
  problem=$(qcow2_problem "$1" | head -n 1)
  [ -z "$problem" ] || fail "the image is a qcow2 file that is not taken: $problem"
  problem=$(number_at "$1" 24 8)
  case $problem in 00[01]*) bytes=$((0x$problem)) ;; *) fail "the image describes a disk of 0x$problem bytes" ;; esac
}

# Zeros are not written if the disk can zero a range. All data is on the disk when this ends.
run_qemu_img() {
  /bin/qemu-img convert -p -n -t writeback -f qcow2 -O raw "$1" "/dev/$disk" > /tmp/converted 2> /tmp/write.error
}

bytes_converted() {
  local share
  share=$(tr '\r' '\n' < /tmp/converted | sed -n 's/^ *(\([0-9]*\)\.[0-9]*\/100%).*/\1/p' | tail -n 1)
  echo $((${share:-0} * bytes / 100))
}

# convert_qcow2 <file> <percent at the start>
convert_qcow2() {
  : > /tmp/converted
  in_background run_qemu_img "$1"
  follow "$2" 90 "$bytes" bytes_converted && return
  make_unbootable
  fail "writing to $disk failed: $(head -n 1 /tmp/write.error)"
}

# An image that does not fit into memory is stored at the end of the disk, after the area that it is unpacked to.
parking_offset() { echo $(((disk_bytes - size) / 1048576 * 1048576)); }

expect_parking_room() {
  [ "$(parking_offset)" -ge "$bytes" ] && return
  fail "the qcow2 image ($size bytes) fits neither into memory ($memory bytes free) nor on $disk behind its $bytes bytes"
}

park() {
  fetch -O - | tee /tmp/hashing | /bin/dd of="/dev/$disk" bs=1M seek=$(($(parking_offset) / 1048576)) \
    iflag=fullblock conv=fsync,notrunc status=none 2> /tmp/write.error
}

clear_parking() {
  dd if=/dev/zero of="/dev/$disk" bs=1M seek=$(($(parking_offset) / 1048576)) conv=notrunc status=none 2> /dev/null
}

write_qcow2_through_disk() {
  local parked
  make_unbootable
  write_verified park bytes_written 75 "$size"
  modprobe -q loop
  parked=$(losetup -f)
  losetup -r -o "$(parking_offset)" "$parked" "/dev/$disk" || fail "$parked can't show the image at the end of $disk"
  # The header that was checked before is from the other fetch.
  judge_qcow2 "$parked"
  expect_parking_room
  convert_qcow2 "$parked" 75
  expect_qcow2_on_disk "$parked" host_device
  losetup -d "$parked"
  clear_parking
}
