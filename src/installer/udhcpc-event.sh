#!/bin/busybox sh
# What udhcpc calls when something happened to the lease; the values are in its environment.
case $1 in
  deconfig)
    ip addr flush dev "$interface"
    ip link set "$interface" up
    ;;
  bound | renew)
    ip addr replace "$ip/${mask:-24}" dev "$interface"
    for gateway in $router; do
      ip route replace default via "$gateway" dev "$interface"
      break
    done
    for server in $dns; do echo "nameserver $server"; done > /etc/resolv.conf
    printf '%s' "$hostname" > /tmp/dhcp-hostname
    ;;
esac
exit 0
