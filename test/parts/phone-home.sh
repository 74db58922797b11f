#!/bin/busybox sh
# The operating system of test images: it gets an address and reports what it is, again and again.
export PATH=/bin
set -f
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
for round in 1 2; do find /sys/devices -name modalias -exec cat {} + | sort -u | xargs modprobe -q -a 2> /dev/null; done
for word in $(cat /proc/cmdline); do
  case $word in
    test.server=*) server=${word#*=} ;;
    test.version=*) version=${word#*=} ;;
    test.then=*) then=${word#*=} ;;
  esac
done
# The card that has a cable.
for card in $(ls /sys/class/net | grep eth); do
  ip link set "$card" up
  udhcpc -i "$card" -n -t 4 -T 1 -s /bin/udhcpc-event && break
done
address=$(ip -4 -o addr show dev "$card" | sed -n 's/.* inet \([0-9.]*\).*/\1/p')
mac=$(cat "/sys/class/net/$card/address")
while :; do
  wget -q -O /dev/null --header 'Content-Type: application/json' \
    --post-data "{\"mac_address\":\"$mac\",\"ip_address\":\"$address\",\"hostname\":\"$version\"}" \
    "$server/api/v1/report" && [ "$then" = poweroff ] && poweroff -f
  echo "phoned home as $version"
  sleep 3
done
