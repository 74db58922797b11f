# Erases every internal disk of the machine, each with the most reliable method that it supports, and reports the evidence.
#
# Rules:
# - Marks are written all over a disk before it is erased. A method counts as successful only if afterwards no mark and no
#   partition table can be read; otherwise the next method is tried, and the evidence says so.
# - The evidence says what was not done, for each disk. A disk that is overwritten only at its ends is `partial`, never `erased`.
# - If the server refuses a report, this boot may not erase any more: the current disk is the last.

# Tests set another root.
root=''
ENDS_MIB=64
MARKS=64
MARK_BYTES=4096
KEEP_ALIVE=20

sys_block() { echo "$root/sys/block/$1"; }
device() { echo "$root/dev/$1"; }
is_block_device() { [ -b "$(device "$1")" ]; }

# --- selecting the disks

# All disks of the kernel by name, without those made of memory, files or other disks.
block_names() { ls "$root/sys/block" | grep -v -E '^(loop|ram|zram|sr|fd|nbd|md|dm-)' | sort; }

# The reason why a disk is not erased; empty if it is.
why_skipped() {
  local sys
  sys=$(sys_block "$1")
  case $1 in
    mmcblk*boot[0-9] | mmcblk*rpmb) echo 'an area of an eMMC that is no disk' && return ;;
    vd* | xvd* | sd* | nvme*n* | mmcblk*) ;;
    *) echo 'not a kind of disk that can be erased here' && return ;;
  esac
  [ "$(cat "$sys/removable")" = 0 ] || { echo 'removable' && return; }
  case $(readlink -f "$sys") in */usb[0-9]*) echo 'on USB' && return ;; esac
  [ "$(cat "$sys/ro")" = 0 ] || { echo 'read-only' && return; }
}

# A drive without a medium is no disk. Neither is a single path of a multipath disk, which has no device.
find_disks() {
  local name why
  erasable='' skipped=''
  for name in $(block_names); do
    [ "$(cat "$(sys_block "$name")/size")" -gt 0 ] || continue
    is_block_device "$name" || continue
    why=$(why_skipped "$name")
    if [ -z "$why" ]; then
      erasable="$erasable $name"
    else
      skipped="$skipped${skipped:+,}{\"name\":\"$name\",\"reason\":\"$(json_text "$why")\"}"
    fi
  done
}

# Disks appear one after the other: the list is complete when it has not changed for two seconds.
settle_disks() {
  local before=none still=0 attempt
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    find_disks
    [ "$erasable" = "$before" ] && still=$((still + 1)) || still=0
    [ -n "$erasable" ] && [ "$still" -ge 2 ] && break
    before=$erasable
    sleep 1
    load_drivers
  done
}

# --- marks, which must not be readable afterwards

mark_places() {
  local blocks=$((bytes_of_disk / MARK_BYTES)) index=0 place last=-1
  while [ "$index" -lt "$MARKS" ]; do
    place=$((blocks * index / MARKS))
    [ "$place" -gt "$last" ] && echo "$place"
    last=$place
    index=$((index + 1))
  done
  [ "$((blocks - 1))" -gt "$last" ] && echo "$((blocks - 1))"
}

forget_cache() {
  sync
  blockdev --flushbufs "$(device "$1")" 2> /dev/null
  { echo 3 > "$root/proc/sys/vm/drop_caches"; } 2> /dev/null
  return 0
}

read_block() { dd if="$(device "$1")" bs="$MARK_BYTES" skip="$2" count=1 2> /dev/null; }

write_marks() {
  local place
  head -c "$MARK_BYTES" /dev/urandom > /tmp/mark
  for place in $(mark_places); do
    dd if=/tmp/mark of="$(device "$1")" bs="$MARK_BYTES" seek="$place" conv=notrunc 2> /dev/null || return 1
  done
  forget_cache "$1"
}

# <disk> <all | ends>: counts the marks, and those that can be read.
count_marks() {
  local place end=$((ENDS_MIB * 1048576 / MARK_BYTES)) blocks=$((bytes_of_disk / MARK_BYTES))
  marks=0 marks_left=0
  forget_cache "$1"
  for place in $(mark_places); do
    [ "$2" = all ] || [ "$place" -lt "$end" ] || [ "$place" -ge $((blocks - end)) ] || continue
    marks=$((marks + 1))
    read_block "$1" "$place" > /tmp/seen || return 1
    cmp -s /tmp/seen /tmp/mark && marks_left=$((marks_left + 1))
  done
  return 0
}

has_partition_table() {
  read_block "$1" 0 > /tmp/seen
  [ "$(tail -c +511 /tmp/seen | head -c 2 | od -An -tx1 | tr -d ' \n')" = 55aa ] && return 0
  read_block "$1" 1 >> /tmp/seen
  dd if="$(device "$1")" bs=512 skip=$((bytes_of_disk / 512 - 8)) count=8 >> /tmp/seen 2> /dev/null
  grep -q 'EFI PART' /tmp/seen
}

# <disk> <all | ends>: succeeds if no mark and no partition table is left; sets $verified to what was checked.
verify_disk() {
  local where=''
  [ "$2" = all ] || where=' at its ends'
  if ! count_marks "$1" "$2"; then
    verified='it could not be read back'
    return 1
  fi
  if has_partition_table "$1"; then
    verified='a partition table can still be read'
    return 1
  fi
  verified="no partition table; $marks_left of $marks marks$where that were written before can be read"
  [ "$marks_left" = 0 ]
}

# --- long commands, with progress reports to the server

# patiently <command> ...: returns its exit code. The command may write its progress, 0 to 100, to /tmp/progress.
patiently() {
  local since now
  since=$(uptime_seconds)
  rm -f /tmp/progress
  in_background "$@"
  while [ ! -s /tmp/ended ]; do
    sleep 0.2
    now=$(uptime_seconds)
    [ $((now - since)) -ge "$KEEP_ALIVE" ] || continue
    since=$now
    keep_alive
  done
  return "$(cat /tmp/ended)"
}

keep_alive() {
  local part
  part=$(cat /tmp/progress 2> /dev/null)
  percent=$(((disk_index * 100 + ${part:-0}) / disk_count))
  report progress "$percent" 0
  if [ "$?" = 2 ]; then unwanted=yes; fi
}

# --- overwriting

zeros() { # <disk> <first MiB> <MiB>
  local written=0 step
  while [ "$written" -lt "$3" ]; do
    step=$(($3 - written < 64 ? $3 - written : 64))
    dd if=/dev/zero of="$(device "$1")" bs=1M seek=$(($2 + written)) count="$step" conv=notrunc,fsync 2> /tmp/write.error || return 1
    written=$((written + step))
    echo $((written * 100 / $3)) > /tmp/progress
  done
}

# The rest after the last full mebibyte.
zero_rest() {
  local rest=$((bytes_of_disk % 1048576))
  [ "$rest" = 0 ] && return
  dd if=/dev/zero of="$(device "$1")" bs=512 seek=$(((bytes_of_disk - rest) / 512)) count=$((rest / 512)) conv=notrunc,fsync 2> /tmp/write.error
}

overwrite_whole() { zeros "$1" 0 "$mebibytes" && zero_rest "$1"; }
overwrite_ends() { zeros "$1" 0 "$ENDS_MIB" && zeros "$1" $((mebibytes - ENDS_MIB)) "$ENDS_MIB" && zero_rest "$1"; }

# The last method: overwrites the requested part of the disk.
overwrite_disk() {
  local between
  if [ "$overwrite" = whole ] || [ "$mebibytes" -le $((2 * ENDS_MIB)) ]; then
    method=overwrite-full
    patiently overwrite_whole "$1" || { problem="writing failed: $(head -n 1 /tmp/write.error)" && return 1; }
    note 'blocks that the disk keeps out of reach (spare, remapped) can not be written over'
    verify_disk "$1" all || { problem=$verified && return 1; }
    result=erased
    return
  fi
  method=overwrite-partial
  between=$((mebibytes - 2 * ENDS_MIB))
  if blkdiscard "$(device "$1")" 2> /dev/null; then
    note "the $between MiB between its ends were discarded, which no disk promises to be an erasure, and not written over"
  else
    note "the $between MiB between its ends were not written over"
  fi
  patiently overwrite_ends "$1" || { problem="writing failed: $(head -n 1 /tmp/write.error)" && return 1; }
  verify_disk "$1" ends || { problem=$verified && return 1; }
  result=partial
}

# --- one disk

note() { not_done="$not_done${not_done:+; }$1"; }

describe_disk() {
  local sys
  sys=$(sys_block "$1")
  bytes_of_disk=$(($(cat "$sys/size") * 512))
  mebibytes=$((bytes_of_disk / 1048576))
  model=$(cat "$sys/device/model" 2> /dev/null)
  serial=$(cat "$sys/serial" "$sys/device/serial" 2> /dev/null | head -n 1)
  [ -n "$serial" ] || serial=$(dd if="$sys/device/vpd_pg80" bs=1 skip=4 2> /dev/null | tr -cd '\041-\176')
}

# The most reliable method first. Each returns whether it erased the disk, and notes the reason if not.
erase_disk() {
  local since
  since=$(uptime_seconds)
  describe_disk "$1"
  method=none result=failed verified='' not_done='' problem=''
  if ! write_marks "$1"; then
    problem='it can not be written to'
  else
    erase_by_command "$1" || overwrite_disk "$1"
  fi
  [ -z "$problem" ] || note "$problem"
  [ "$result" != failed ] || errors="$errors${errors:+; }$1: ${not_done:-it could not be erased}"
  say "$1: $result by $method${not_done:+ (not done: $not_done)}"
  erased="$erased${erased:+,}{\"name\":\"$1\",\"model\":\"$(json_text "$(echo $model)")\",\"serial\":\"$(json_text "$(echo $serial)")\",\"size_bytes\":$bytes_of_disk,\"method\":\"$method\",\"result\":\"$result\",\"verified\":\"$(json_text "$verified" | cut -c 1-300)\",\"not_done\":\"$(json_text "$not_done" | cut -c 1-300)\",\"seconds\":$(($(uptime_seconds) - since))}"
  evidence=",\"erase\":{\"disks\":[$erased],\"skipped\":[$skipped]}"
}

# --- main

erase_all() {
  local name
  erased='' errors='' unwanted=no disk_index=0
  settle_disks
  evidence=",\"erase\":{\"disks\":[],\"skipped\":[$skipped]}"
  disk_count=$(echo $erasable | wc -w)
  [ "$disk_count" -gt 0 ] || fail 'there is no disk that can be erased'
  say "erasing:$erasable"
  for name in $erasable; do
    erase_disk "$name"
    disk_index=$((disk_index + 1))
    rm -f /tmp/progress
    keep_alive
    if [ "$unwanted" = yes ]; then
      say 'the server wants no erasure from this boot any more'
      restart 30
    fi
  done
  [ -z "$errors" ] || fail "$errors"
}
