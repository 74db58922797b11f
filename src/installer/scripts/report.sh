# Reports to the server, and the handling of failures.

# The content of a JSON string: only printable ASCII, so that only two characters need escaping.
json_text() { printf '%s' "$1" | tr -s '\n\t' '  ' | tr -cd '\040-\176' | cut -c 1-500 | sed 's/\\/\\\\/g; s/"/\\"/g'; }

json_fact() {
  [ -n "$2" ] && printf ',"%s":"%s"' "$1" "$(json_text "$2")"
}

dmi() { cat "$SYSFS/class/dmi/id/$1" 2> /dev/null; }

gather_facts() {
  facts=$(
    json_fact ip_address "$(ip -4 -o addr show dev "$interface" | sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1)"
    json_fact hostname "$(cat /tmp/dhcp-hostname 2> /dev/null)"
    json_fact vendor "$(dmi sys_vendor)"
    json_fact model "$(dmi product_name)"
    json_fact serial_number "$(dmi product_serial)"
    json_fact system_uuid "$(dmi product_uuid)"
  )
}

# report <status> <percent> <seconds to retry> [<error>]
# 0: delivered. 1: not delivered. 2: the server refuses this boot.
report() {
  local give_up pause
  {
    printf '{"mac_address":"%s"%s' "$(json_text "$mac")" "$facts"
    printf ',"installation_status":"%s","installation_progress":%d' "$1" "$2"
    json_fact installation_error "$4"
    [ "$1" = started ] && [ -n "$inventory" ] && printf ',"inventory":%s' "$inventory"
    printf '%s}' "$evidence"
  } > /tmp/report
  give_up=$(($(uptime_seconds) + $3))
  pause=1
  while :; do
    timeout 20 wget -q -O /dev/null --header "Authorization: Bearer $token" \
      --header 'Content-Type: application/json' --post-file /tmp/report "$url/api/v1/${report_to:-report}" \
      2> /tmp/report.error && return 0
    say "report '$1' was not delivered: $(cat /tmp/report.error)"
    grep -q -E 'HTTP/1\.[01] (401|403|409|410)' /tmp/report.error && return 2
    [ "$(uptime_seconds)" -ge "$give_up" ] && return 1
    sleep "$pause"
    pause=$((pause < 16 ? pause * 2 : 30))
  done
}

restart() {
  sync
  sleep "$1"
  reboot -f
  # The kernel may take a moment, and this process must not exit before.
  sleep 1000
}

fail() {
  say "failed: $1"
  report failed "$percent" 60 "$1"
  restart 5
}
