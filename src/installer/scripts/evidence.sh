# Proves what is on the disk: reads back what was written, and signs its digest with the token of this boot.

# hmac_pad <key> <number>: the key of at most 64 characters, padded to 64 bytes, each XORed with the number; as escapes of printf.
hmac_pad() {
  local byte count=0
  for byte in $(printf '%s' "$1" | od -An -v -tu1); do
    printf '\\0%03o' $((byte ^ $2))
    count=$((count + 1))
  done
  while [ "$count" -lt 64 ]; do
    printf '\\0%03o' "$2"
    count=$((count + 1))
  done
}

# hmac_sha256 <key>: of its input, in hexadecimal digits.
hmac_sha256() {
  local inner
  inner=$({ printf '%b' "$(hmac_pad "$1" 54)" && cat; } | sha256sum | cut -d ' ' -f 1 | sed 's/../\\x&/g')
  { printf '%b' "$(hmac_pad "$1" 92)" && printf '%b' "$inner"; } | sha256sum | cut -d ' ' -f 1
}

# What is read must come from the disk, not from what the kernel remembers of the writing.
forget_disk() {
  sync
  blockdev --flushbufs "/dev/$disk" 2> /dev/null
  echo 1 > /proc/sys/vm/drop_caches
}

hash_disk() { head -c "$bytes" "/dev/$disk" | /bin/sha256sum > /tmp/read-back; }
disk_digest() { cut -d ' ' -f 1 /tmp/read-back; }

# A qcow2 file has no digest of what it unpacks to, so the disk is compared with it.
is_qcow2_on_disk() {
  /bin/qemu-img compare -q --image-opts "driver=qcow2,file.driver=$2,file.filename=$1" \
    "driver=raw,size=$bytes,file.driver=host_device,file.filename=/dev/$disk" 2> /tmp/write.error
}

# expect_qcow2_on_disk <file> <file or host_device>
expect_qcow2_on_disk() {
  forget_disk
  is_qcow2_on_disk "$1" "$2" && return
  make_unbootable
  fail "what was read back from $disk is not the image: $(head -n 1 /tmp/write.error)"
}

prove_written() {
  local found
  forget_disk
  in_background hash_disk
  follow 90 99 "$bytes" bytes_hashed || fail "$disk can't be read back"
  found=$(disk_digest)
  if [ "$format" != qcow2 ] && [ "$found" != "$unpacked" ]; then
    make_unbootable
    fail "what was read back from $disk is not the image: expected $unpacked got $found"
  fi
  evidence=$(printf ',"evidence":{"image_sha256":"%s","bytes_written":%s,"sha256":"%s","signature":"%s"}' \
    "$sha256" "$bytes" "$found" "$(evidence_message "$found" | hmac_sha256 "$token")")
  say "read back $bytes bytes from $disk: $found"
}

evidence_message() { printf 'ingot-evidence-1\n%s\n%s\n%s\n%s\n' "$mac" "$sha256" "$bytes" "$1"; }
