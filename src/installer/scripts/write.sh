# Writes the image to the disk.

onto_disk() { /bin/dd of="/dev/$disk" bs=1M iflag=fullblock conv=fsync,notrunc status=none 2> /tmp/write.error; }

# Removes what an earlier system left at the end of the disk: a backup partition table, RAID metadata.
clear_end_of_disk() {
  local start=$(((disk_bytes / 1048576 - 1) * 2048))
  dd if=/dev/zero of="/dev/$disk" bs=512 seek="$start" count=$((disk_bytes / 512 - start)) conv=fsync,notrunc status=none 2> /dev/null
}

# Firmware that finds no partition table at the start of a disk uses the backup GPT at its end.
make_unbootable() {
  dd if=/dev/zero of="/dev/$disk" bs=1M count=1 conv=fsync,notrunc status=none
  clear_end_of_disk
}

write_kept() { unpack < /image/packed | onto_disk; }
write_stream() { fetch -O - | tee /tmp/hashing | unpack | onto_disk; }

# write_verified <command> <command that prints the bytes so far> <percent at the end> <total bytes>: for the second fetch of
# an image, which is hashed again. If the digest differs, the disk is made unbootable.
write_verified() {
  sha256sum < /tmp/hashing > /tmp/digest &
  hashing=$!
  in_background "$1"
  follow 50 "$3" "$4" "$2"
  written=$?
  wait "$hashing"
  digest=$(cut -d ' ' -f 1 /tmp/digest)
  [ "$written" = 0 ] && [ "$digest" = "$sha256" ] && return
  make_unbootable
  [ "$written" = 0 ] || fail "writing to $disk failed: $(cat /tmp/write.error /tmp/fetch.error | head -n 1)"
  expect_digest "$digest"
}

write_image() {
  clear_end_of_disk
  case $format-$kept in
    qcow2-yes)
      convert_qcow2 /image/packed 50
      expect_qcow2_on_disk /image/packed file
      ;;
    qcow2-no) write_qcow2_through_disk ;;
    *-yes)
      in_background write_kept
      follow 50 90 "$bytes" bytes_written || fail "writing to $disk failed: $(head -n 1 /tmp/write.error)"
      ;;
    *) write_verified write_stream bytes_written 90 "$bytes" ;;
  esac
}
