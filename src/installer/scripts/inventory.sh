# The hardware inventory, from the kernel and the firmware: one JSON object, sent with the report `started`.

MOST_DISKS=128
MOST_NICS=64
MOST_MODULES=128
MOST_GPUS=32

json_number() { case $2 in '' | *[!0-9]*) ;; *) printf ',"%s":%s' "$1" "$2" ;; esac; }
json_flag() { case $2 in 1) printf ',"%s":true' "$1" ;; 0) printf ',"%s":false' "$1" ;; esac; }

# Make a JSON object or list of the output of a pipe, which starts with a comma.
json_object() {
  local inner
  inner=$(cat)
  printf '{%s}' "${inner#,}"
}
json_list() { printf '[%s]' "$(head -n "$1" | paste -s -d , -)"; }

# The base name of a link's target, such as the driver of a device.
link_name() { basename "$(readlink "$1" 2> /dev/null)" 2> /dev/null; }

# --- DMI tables of the firmware: /sys/firmware/dmi/entries/<type>-<number>/raw

# dmi_number <file> <offset> <bytes>: a little-endian number.
dmi_number() {
  local digits byte
  digits=''
  for byte in $(dd if="$1" bs=1 skip="$2" count="$3" 2> /dev/null | od -An -v -tx1); do digits=$byte$digits; done
  [ -n "$digits" ] && echo $((0x$digits))
}

# dmi_string <file> <offset>: the byte there is the index of one of the strings after the record.
dmi_string() {
  local number length
  length=$(dmi_number "$1" 1 1)
  number=$(dmi_number "$1" "$2" 1)
  [ "${number:-0}" -gt 0 ] && [ "$length" -gt "$2" ] || return 0
  tail -c "+$((length + 1))" "$1" | tr '\0' '\n' | sed -n "${number}{s/^ *//; s/ *\$//; p; q}"
}

dmi_records() { ls -d "$SYSFS"/firmware/dmi/entries/"$1"-*/raw 2> /dev/null | sort -t - -k 2 -n; }

# --- the parts of the inventory

inventory_system() {
  {
    json_fact vendor "$(dmi sys_vendor)"
    json_fact model "$(dmi product_name)"
    json_fact sku "$(dmi product_sku)"
    json_fact serial_number "$(dmi product_serial)"
    json_fact uuid "$(dmi product_uuid)"
    json_fact board_model "$(dmi board_name)"
    json_fact board_serial_number "$(dmi board_serial)"
    json_fact bios_vendor "$(dmi bios_vendor)"
    json_fact bios_version "$(dmi bios_version)"
    json_fact bios_date "$(dmi bios_date)"
  } | json_object
}

cpu_model() {
  local model file
  model=$(sed -n 's/^model name[^:]*: *//p' "$PROCFS/cpuinfo" | head -n 1)
  if [ -z "$model" ]; then
    for file in $(dmi_records 4 | head -n 1); do model=$(dmi_string "$file" 16); done
  fi
  echo "$model"
}

# topology <file name>: one line for each thread.
topology() {
  local file
  for file in $(find "$SYSFS/devices/system/cpu" -path "*/cpu[0-9]*/topology/$1" 2> /dev/null | sort); do
    echo "$(cat "${file%/*}/physical_package_id") $(cat "$file")"
  done
}

inventory_cpu() {
  {
    json_fact model "$(cpu_model)"
    json_fact architecture "$(uname -m)"
    json_number sockets "$(topology physical_package_id | sort -u | wc -l)"
    json_number cores "$(topology core_id | sort -u | wc -l)"
    json_number threads "$(grep -c '^processor' "$PROCFS/cpuinfo")"
  } | json_object
}

# In KiB if the highest bit is set, otherwise in MiB; 0x7fff: the size is in the extended field.
module_bytes() {
  local size
  size=$(dmi_number "$1" 12 2)
  case ${size:-0} in
    0 | 65535) echo 0 ;;
    32767) echo $(($(dmi_number "$1" 28 4) * 1048576)) ;;
    *) if [ "$size" -ge 32768 ]; then echo $(((size - 32768) * 1024)); else echo $((size * 1048576)); fi ;;
  esac
}

# Empty slots are left out.
inventory_modules() {
  local file bytes speed
  for file in $(dmi_records 17); do
    bytes=$(module_bytes "$file")
    [ "$bytes" -gt 0 ] || continue
    speed=$(dmi_number "$file" 21 2)
    {
      json_fact slot "$(dmi_string "$file" 16)"
      json_number size_bytes "$bytes"
      [ "${speed:-0}" -gt 0 ] && json_number speed_mts "$speed"
      json_fact manufacturer "$(dmi_string "$file" 23)"
      json_fact serial_number "$(dmi_string "$file" 24)"
      json_fact part_number "$(dmi_string "$file" 26)"
    } | json_object
    echo
  done | json_list "$MOST_MODULES"
}

inventory_memory() {
  {
    json_number total_bytes "$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' "$PROCFS/meminfo") * 1024))"
    printf ',"modules":%s' "$(inventory_modules)"
  } | json_object
}

# disk_life <name>: how many percent of its writes an NVMe disk has left; nothing where it does not say. One that hangs holds up no boot.
disk_life() {
  local used
  case $1 in nvme*) ;; *) return 0 ;; esac
  used=$(timeout 5 nvme smart-log "/dev/$1" 2> /dev/null | sed -n 's/^percentage_used[^:]*: *\([0-9]*\).*/\1/p' | head -n 1)
  case $used in '' | *[!0-9]*) return 0 ;; esac
  # It goes on counting past its rated life.
  [ "$used" -gt 100 ] && used=100
  echo $((100 - used))
}

# All disks, also those that are never written to.
inventory_disks() {
  local name
  for name in $(disk_names); do
    [ "$(cat "$SYSFS/block/$name/size")" -gt 0 ] || continue
    {
      json_fact name "$name"
      json_fact model "$(disk_model "$name")"
      json_fact serial_number "$(disk_serial "$name")"
      json_number size_bytes "$(disk_size "$name")"
      json_fact transport "$(disk_transport "$name")"
      json_flag rotational "$(cat "$SYSFS/block/$name/queue/rotational" 2> /dev/null)"
      json_flag removable "$(cat "$SYSFS/block/$name/removable")"
      json_number life_left_percent "$(disk_life "$name")"
    } | json_object
    echo
  done | json_list "$MOST_DISKS"
}

# An interface that is down has neither link state nor speed: it is set up for this, and down again afterwards.
wake_nics() {
  local name
  for name in $(interfaces any); do
    [ "$(($(cat "$SYSFS/class/net/$name/flags") & 1))" = 1 ] && continue
    ip link set "$name" up 2> /dev/null && woken_nics="$woken_nics $name"
  done
}

settle_nics() {
  local name
  for name in $woken_nics; do ip link set "$name" down 2> /dev/null; done
  woken_nics=''
}

# The speed of a link that is down, or of a virtual interface, is -1 or can't be read.
inventory_nics() {
  local name dir
  for name in $(interfaces any); do
    dir="$SYSFS/class/net/$name"
    {
      json_fact name "$name"
      json_fact mac_address "$(cat "$dir/address")"
      json_number speed_mbps "$(cat "$dir/speed" 2> /dev/null)"
      json_flag link "$(cat "$dir/carrier" 2> /dev/null)"
      json_fact driver "$(link_name "$dir/device/driver")"
      json_fact pci_address "$(link_name "$dir/device" | grep -E '^[0-9a-f]{4}:')"
    } | json_object
    echo
  done | json_list "$MOST_NICS"
}

# Display controllers: 0300 with a display output, 0302 without.
inventory_gpus() {
  local dir
  for dir in $(ls -d "$SYSFS"/bus/pci/devices/* 2> /dev/null); do
    case $(cat "$dir/class") in 0x0300* | 0x0302*) ;; *) continue ;; esac
    {
      json_fact pci_address "$(basename "$dir")"
      json_fact vendor_id "$(sed 's/^0x//' "$dir/vendor")"
      json_fact device_id "$(sed 's/^0x//' "$dir/device")"
    } | json_object
    echo
  done | json_list "$MOST_GPUS"
}

# Sets $inventory.
take_inventory() {
  # Only here, file name patterns are expanded.
  set +f
  inventory=$(
    printf '{"system":%s,"cpu":%s' "$(inventory_system)" "$(inventory_cpu)"
    printf ',"memory":%s' "$(inventory_memory)"
    printf ',"disks":%s,"nics":%s,"gpus":%s}' "$(inventory_disks)" "$(inventory_nics)" "$(inventory_gpus)"
  )
  set -f
}
