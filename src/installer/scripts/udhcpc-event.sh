#!/bin/busybox sh
# udhcpc runs this when the lease changes; the values are in the environment.
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
