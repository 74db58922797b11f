# Fetches, verifies and unpacks the image.

MEMORY_RESERVE=$((64 * 1024 * 1024))

# The token is sent only to the server that issued it.
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

# The first bytes identify the format; anything else is a raw image.
format_of() {
  case $(head -c 6 | od -An -v -tx1 | tr -d ' \n') in
    1f8b*) echo gzip ;;
    fd377a585a00) echo xz ;;
    28b52ffd*) echo zstd ;;
    514649fb*) echo qcow2 ;;
    *) echo raw ;;
  esac
}

expect_format() {
  [ "$format" != zstd ] || [ -x /bin/zstd ] || fail 'the image is packed with zstd, and this installer was built without it'
  say "the image is $format"
}

unpack() {
  case $format in
    gzip) gunzip -c ;;
    xz) xz -d -c ;;
    zstd) zstd -q -d -c ;;
    *) cat ;;
  esac
}

# Saves the first bytes and counts all: a compressed qcow2 file would be written as it is, and never boot.
count_bytes() {
  dd of=/tmp/inner bs=6 count=1 iflag=fullblock 2> /dev/null
  echo $(($(wc -c) + $(stat -c %s /tmp/inner)))
}

# What is unpacked gets a digest, to compare the disk with it. A raw image has that of the file.
measure() {
  if [ "$format" = raw ]; then
    count_bytes
    return
  fi
  rm -f /tmp/measuring
  mkfifo /tmp/measuring
  /bin/sha256sum < /tmp/measuring > /tmp/unpacked &
  tee /tmp/measuring | count_bytes
  wait "$!"
}

unpacked_digest() {
  if [ "$format" = raw ]; then
    echo "$sha256"
  else
    cut -d ' ' -f 1 /tmp/unpacked
  fi
}

expect_unpacked() {
  [ "$format" = raw ] || [ "$(format_of < /tmp/inner)" != qcow2 ] ||
    fail "the image is a qcow2 file packed with $format: add it without the packing"
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
  format=$(format_of < /image/packed)
  expect_format
  if [ "$format" = qcow2 ]; then
    judge_qcow2 /image/packed
    return
  fi
  bytes=$(unpack < /image/packed | measure) || fail "the image is not a whole $format file"
  unpacked=$(unpacked_digest)
  expect_unpacked
}

hash_stream() { fetch -O - | tee /tmp/unpacking | /bin/sha256sum > /tmp/digest; }

# Reads to the end also if nothing is unpacked, so that the digest covers the whole image.
count_stream() {
  {
    unpack || touch /tmp/not-whole
    cat > /dev/null
  } < /tmp/unpacking | measure > /tmp/bytes
}

hash_without_keeping() {
  local attempt
  fetch -O - | head -c 4096 > /tmp/head
  format=$(format_of < /tmp/head)
  expect_format
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
  if [ "$format" = qcow2 ]; then
    judge_qcow2 /tmp/head
    expect_parking_room
    return
  fi
  [ -e /tmp/not-whole ] && fail "the image is not a whole $format file"
  bytes=$(cat /tmp/bytes)
  unpacked=$(unpacked_digest)
  expect_unpacked
}
