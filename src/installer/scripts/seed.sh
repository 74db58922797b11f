# Writes the NoCloud seed for cloud-init of the installed system, in a small partition with the label CIDATA at the end of the
# disk. The file systems of the image are not changed, so it works with any image that has a partition table, and the partition
# before it can still grow.
#
# User data may contain secrets. It is fetched with this boot's token, kept in memory, and never printed.

SEED_BYTES=$((8 * 1024 * 1024))

# fetch_seed_file <name> <optional or needed>
fetch_seed_file() {
  local attempt
  for attempt in 1 2 3 4 5; do
    timeout 20 wget -q -O "/seed/$1" --header "Authorization: Bearer $token" "$url/api/v1/boot/$1" 2> /tmp/seed.error &&
      return
    if [ "$2" = optional ] && grep -q -E 'HTTP/1\.[01] 404' /tmp/seed.error; then
      rm -f "/seed/$1"
      return
    fi
    sleep "$attempt"
  done
  fail "user data can't be fetched: $(head -n 1 /tmp/seed.error)"
}

fetch_seed() {
  [ "$seed" = yes ] || return 0
  [ -x /bin/sfdisk ] || fail "user data can't be delivered: this installer was built without sfdisk"
  mkdir -p /seed
  mount -t tmpfs -o size=4m,mode=700 seed /seed
  fetch_seed_file user-data needed
  fetch_seed_file meta-data needed
  fetch_seed_file network-config optional
}

# One mebibyte after it is left free, for the backup table of a GPT.
seed_offset() { echo $(((disk_bytes - SEED_BYTES - 1048576) / 1048576 * 1048576)); }

expect_seed_room() {
  [ "$seed" = yes ] || return 0
  [ "$(seed_offset)" -ge "$bytes" ] ||
    fail "the disk $disk has no room for user data behind the image: $disk_bytes bytes, $((bytes + SEED_BYTES + 2097152)) needed"
}

# Without its user data an image may be open to everyone.
fail_seed() {
  make_unbootable
  fail "user data can't be delivered: $1"
}

# The partition that starts at the offset of the seed.
seed_partition() {
  local name
  for name in $(ls "$SYSFS/block/$disk"); do
    [ "$(cat "$SYSFS/block/$disk/$name/start" 2> /dev/null)" = $(($(seed_offset) / 512)) ] && echo "$name"
  done
}

add_seed_partition() {
  local sector type
  sector=$(cat "$SYSFS/block/$disk/queue/logical_block_size")
  case $(sfdisk -d "/dev/$disk" 2> /tmp/seed.error | sed -n 's/^label: //p') in
    # The backup table is at the end of the image; it must be at the end of the disk.
    gpt) type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7 && sfdisk -q --relocate gpt-bak-std "/dev/$disk" > /tmp/seed.error 2>&1 ;;
    dos) type=c ;;
    *) fail_seed 'the image has no table of partitions' ;;
  esac
  echo "start=$(($(seed_offset) / sector)), size=$((SEED_BYTES / sector)), type=$type" |
    sfdisk -q --append --no-reread --wipe never "/dev/$disk" > /tmp/seed.error 2>&1 ||
    fail_seed "no partition can be added: $(grep -v '^$' /tmp/seed.error | tail -n 1)"
}

place_seed() {
  local partition attempt
  [ "$seed" = yes ] || return 0
  modprobe -q -a vfat nls_cp437 nls_ascii nls_utf8
  add_seed_partition
  for attempt in 1 2 3 4 5; do
    partprobe "/dev/$disk" 2> /dev/null
    partition=$(seed_partition)
    [ -n "$partition" ] && [ -b "/dev/$partition" ] && break
    sleep 1
  done
  [ -n "$partition" ] || fail_seed "its partition on $disk does not appear"
  mkdosfs -n CIDATA "/dev/$partition" > /tmp/seed.error 2>&1 || fail_seed "$(head -n 1 /tmp/seed.error)"
  mkdir -p /mnt
  mount -t vfat -o umask=077 "/dev/$partition" /mnt 2> /tmp/seed.error || fail_seed "$(head -n 1 /tmp/seed.error)"
  cp -r /seed/. /mnt/ 2> /tmp/seed.error && sync && umount /mnt || fail_seed "$(head -n 1 /tmp/seed.error)"
  umount /seed
  say "user data is on $partition"
}
