# Burn-in: tests processors, memory, disks and GPUs for a limited time, all at once, and reports what became of each part.
#
# Rules:
# - Nothing is written to a disk: disks are read.
# - A test that finds a defect ends early and names the part. Others go on to the end of the time.
# - What can't be tested here is `skipped` with the reason, and never `passed`.

BURN_BLOCK_MIB=16
BURN_REPORT_EVERY=20
BURN_MEMORY_PERCENT=75

# The names in a folder that fit a pattern; the rest of the installer expands none.
burn_files() { (set +f; ls -d $1 2> /dev/null); }

burn_until() { [ "$(uptime_seconds)" -lt "$burn_end" ]; }

# burn_result <test> <part> <passed|failed|skipped> <detail>: one line of JSON. The part is what an operator replaces.
burn_result() {
  printf '{"test":"%s","part":"%s","result":"%s","detail":"%s","seconds":%d}\n' "$1" "$(json_text "$2")" "$3" \
    "$(json_text "$4")" "$(($(uptime_seconds) - burn_start))" >> "/tmp/burn/$1.results"
}

# --- processors: each hashes the same block again and again, and must find the same digest each time

burn_processors() { grep -c '^processor' "$PROCFS/cpuinfo"; }

burn_hash() { sha256sum < /tmp/burn/block | cut -d ' ' -f 1; }

# burn_processor <number>
burn_processor() {
  local rounds=0 found part
  while [ "$rounds" = 0 ] || burn_until; do
    part="processor $1"
    found=$(taskset -c "$1" sha256sum < /tmp/burn/block 2> /dev/null | cut -d ' ' -f 1)
    # Without a way to choose the processor, the kernel chooses, and which one it was is not known.
    [ -n "$found" ] || { part='a processor' && found=$(burn_hash); }
    rounds=$((rounds + 1))
    if [ "$found" != "$burn_digest" ]; then
      burn_result cpu "$part" failed "round $rounds computed another digest of the same block"
      return
    fi
  done
  echo "$rounds" > "/tmp/burn/cpu.rounds.$1"
}

burn_cpu() {
  local count number checks
  count=$(burn_processors)
  number=0
  while [ "$number" -lt "$count" ]; do
    burn_processor "$number" &
    number=$((number + 1))
  done
  wait
  checks=$(dmesg 2> /dev/null | grep -c -i -E 'machine check|mce: \[hardware error\]')
  [ "${checks:-0}" = 0 ] || burn_result cpu processors failed "the kernel reports $checks machine checks"
  [ -s /tmp/burn/cpu.results ] || burn_result cpu "$count processors" passed "$(cat $(burn_files '/tmp/burn/cpu.rounds.*') | awk '{ s += $1 } END { print s + 0 }') rounds without a difference"
}

# --- memory: most of what is free is filled with copies of a random block, which are compared until the time is over

burn_free_mib() { awk '/^MemAvailable:/ { print int($2 / 1024) }' "$PROCFS/meminfo"; }

# Counters of the memory controllers, by module: <label> <corrected> <uncorrected>
burn_modules() {
  local module
  for module in $(burn_files "$SYSFS/devices/system/edac/mc/mc*/dimm*"); do
    echo "$(first_line "$module/dimm_label" | tr ' ' '_') $(cat "$module/dimm_ce_count" 2> /dev/null) $(cat "$module/dimm_ue_count" 2> /dev/null)"
  done
}

burn_release_memory() { umount /tmp/burn/memory 2> /dev/null; rm -rf /tmp/burn/memory; }

burn_memory() {
  local copies made=0 copy rounds=0 label corrected uncorrected
  burn_modules > /tmp/burn/memory.before
  copies=$(($(burn_free_mib) * BURN_MEMORY_PERCENT / 100 / BURN_BLOCK_MIB))
  mkdir -p /tmp/burn/memory
  # Apart from /tmp: where the copies fill that, the other tests can't write their results.
  mount -t tmpfs -o "size=$((copies * BURN_BLOCK_MIB + 1))m,mode=700" memory /tmp/burn/memory
  while [ "$made" -lt "$copies" ] && { [ "$made" = 0 ] || burn_until; }; do
    cp /tmp/burn/block "/tmp/burn/memory/$made" 2> /dev/null || { rm -f "/tmp/burn/memory/$made" && break; }
    made=$((made + 1))
  done
  while [ "$made" -gt 0 ] && { [ "$rounds" = 0 ] || burn_until; }; do
    copy=0
    while [ "$copy" -lt "$made" ] && { [ "$rounds" = 0 ] || burn_until; }; do
      if [ "$(sha256sum < "/tmp/burn/memory/$copy" | cut -d ' ' -f 1)" != "$burn_digest" ]; then
        burn_result memory memory failed "copy $copy of $made of a block of $BURN_BLOCK_MIB MiB has changed"
        burn_release_memory
        return
      fi
      copy=$((copy + 1))
    done
    rounds=$((rounds + 1))
  done
  burn_release_memory
  burn_modules | while read -r label corrected uncorrected; do
    grep -q -x -F "$label $corrected $uncorrected" /tmp/burn/memory.before || burn_result memory "$label" failed "$corrected corrected and $uncorrected uncorrected errors are counted now"
  done
  if [ "$made" = 0 ]; then
    burn_result memory memory skipped 'there is no free memory to test'
  elif [ ! -s /tmp/burn/memory.results ]; then
    burn_result memory memory passed "$((made * BURN_BLOCK_MIB)) MiB compared $rounds times"
  fi
}

# --- disks: each is read from its start, as far as the time allows

# burn_disk <name>
burn_disk() {
  local serial size done_mib=0 error
  serial=$(disk_serial "$1")
  size=$(($(disk_size "$1") / 1048576))
  while [ "$done_mib" -lt "$size" ] && { [ "$done_mib" = 0 ] || burn_until; }; do
    if ! dd if="$burn_root/dev/$1" of=/dev/null bs=1M skip="$done_mib" count=64 2> "/tmp/burn/disk.$1.error"; then
      error=$(grep -v records "/tmp/burn/disk.$1.error" | head -n 1)
      burn_result disk "$1 (serial ${serial:--})" failed "reading failed at $done_mib MiB: $error"
      return
    fi
    done_mib=$((done_mib + 64))
  done
  [ "$done_mib" -gt "$size" ] && done_mib=$size
  burn_result disk "$1 (serial ${serial:--})" passed "$done_mib of $size MiB read"
}

burn_disks() {
  local name found=''
  for name in $(disks); do
    found=yes
    burn_disk "$name" &
  done
  wait
  [ -n "$found" ] || burn_result disk disks skipped 'the machine has no disk'
}

# --- GPUs: without a driver there is no way to compute on them; their links and their error counters are read

burn_gpu_devices() {
  local device
  for device in $(ls "$SYSFS/bus/pci/devices" 2> /dev/null); do
    case $(cat "$SYSFS/bus/pci/devices/$device/class" 2> /dev/null) in
      0x0302* | 0x0300*) ;;
      *) continue ;;
    esac
    # The display of a BMC is no GPU.
    case $(cat "$SYSFS/bus/pci/devices/$device/vendor") in 0x10de | 0x1002 | 0x8086) echo "$device" ;; esac
  done
}

# burn_gpu <address>
burn_gpu() {
  local at="$SYSFS/bus/pci/devices/$1" width widest errors
  width=$(cat "$at/current_link_width" 2> /dev/null)
  widest=$(cat "$at/max_link_width" 2> /dev/null)
  if [ "$(cat "$at/vendor" 2> /dev/null)" = 0xffff ] || [ ! -e "$at/vendor" ]; then
    burn_result gpu "$1" failed 'it has fallen off the bus'
  elif [ -n "$widest" ] && [ "${width:-0}" -lt "$widest" ]; then
    burn_result gpu "$1" failed "its link has ${width:-0} of $widest lanes"
  else
    errors=$(cat "$at/aer_dev_fatal" "$at/aer_dev_nonfatal" 2> /dev/null | awk '/^TOTAL/ { s += $2 } END { print s + 0 }')
    if [ "$errors" -gt 0 ]; then
      burn_result gpu "$1" failed "its link counts $errors errors"
    else
      burn_result gpu "$1" passed "its link has ${width:-all} lanes and no errors; nothing was computed on it"
    fi
  fi
}

# Looked at again at the end: what fails under load fails late.
burn_gpus() {
  local device found=''
  while burn_until; do sleep 1; done
  for device in $(burn_gpu_devices); do
    found=yes
    burn_gpu "$device"
  done
  [ -n "$found" ] || burn_result gpu GPUs skipped 'the machine has no GPU'
}

# --- the whole

burn_test() {
  case $1 in
    cpu) burn_cpu ;;
    memory) burn_memory ;;
    disk) burn_disks ;;
    gpu) burn_gpus ;;
    *) burn_result "$1" "$1" skipped 'this installer does not know the test' ;;
  esac
}

# Sets `evidence` to the results so far.
burn_evidence() {
  evidence=$(printf ',"burn_in":{"results":[%s]}' "$(cat $(burn_files '/tmp/burn/*.results') < /dev/null | paste -s -d , -)")
}

burn_in() {
  local test running now
  case $burn_seconds in '' | 0* | *[!0-9]*) fail "not a time limit: ingot.seconds=$burn_seconds" ;; esac
  mkdir -p /tmp/burn
  dd if=/dev/urandom of=/tmp/burn/block bs=1M count="$BURN_BLOCK_MIB" 2> /dev/null || fail 'there is no memory for a block of random bytes'
  burn_digest=$(burn_hash)
  burn_start=$(uptime_seconds)
  burn_end=$((burn_start + burn_seconds))
  for test in $(echo "$burn_tests" | tr ',' ' '); do
    say "testing $test for $burn_seconds seconds"
    { burn_test "$test"; touch "/tmp/burn/$test.over"; } &
  done
  while :; do
    running=''
    for test in $(echo "$burn_tests" | tr ',' ' '); do [ -e "/tmp/burn/$test.over" ] || running="$running $test"; done
    [ -n "$running" ] || break
    sleep "$BURN_REPORT_EVERY"
    now=$((($(uptime_seconds) - burn_start) * 100 / burn_seconds))
    [ "$now" -gt 99 ] && now=99
    percent=$now
    burn_evidence
    report progress "$percent" 0
    [ "$?" = 2 ] && { say 'the server wants no burn-in from this boot' && restart 5; }
  done
  burn_evidence
}
