# Loads drivers, and gets an address by DHCP.

# A device may be a bus with further devices, so drivers are loaded in several rounds.
load_drivers() {
  local round
  for round in 1 2 3; do
    find /sys/devices -name modalias -exec cat {} + 2> /dev/null | sort -u > /tmp/modaliases
    cmp -s /tmp/modaliases /tmp/modaliases.before && return
    xargs modprobe -q -a < /tmp/modaliases 2> /dev/null
    mv /tmp/modaliases /tmp/modaliases.before
    sleep 0.2
  done
}

interfaces() {
  local name
  for name in $(ls "$SYSFS/class/net"); do
    [ "$name" = lo ] && continue
    [ -e "$SYSFS/class/net/$name/device" ] || continue
    [ "$1" = any ] || [ "$(cat "$SYSFS/class/net/$name/address")" = "$mac" ] || continue
    echo "$name"
  done
}

# The interface that the machine booted from; the others only if it is not found.
connect() {
  local attempt name
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    [ -n "$(interfaces booted)" ] && break
    sleep 1
    load_drivers
  done
  for name in $(interfaces booted) $(interfaces any); do
    ip link set "$name" up
    # Stays in the background, to renew the lease. A switch port may take half a minute to forward.
    if udhcpc -i "$name" -n -t 25 -T 2 -s /bin/udhcpc-event > /tmp/udhcpc.log 2>&1; then
      interface=$name
      return 0
    fi
    say "no DHCP answer on $name"
  done
  return 1
}
