# The image: fetched, verified, unpacked.

MEMORY_RESERVE=$((64 * 1024 * 1024))

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
