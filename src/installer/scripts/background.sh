# Runs long commands in the background and reports their progress.

STALLED_AFTER=60
# The server takes a boot without a report for dead after some time.
REPORT_EVERY=120

# in_background <command> ...: writes its exit code to /tmp/ended.
in_background() {
  rm -f /tmp/ended
  {
    "$@"
    echo "$?" > /tmp/ended.draft
    mv /tmp/ended.draft /tmp/ended
  } &
}

# follow <percent at the start> <percent at the end> <total bytes> <command that prints the bytes so far>
follow() {
  local seen='' idle=0 quiet=0 bytes now
  while :; do
    # Polls often, so that short commands end soon; the rest happens once a second.
    for now in 1 2 3 4 5; do
      [ -s /tmp/ended ] && break 2
      sleep 0.2
    done
    bytes=$("$4")
    if [ "${bytes:-0}" = "$seen" ]; then
      idle=$((idle + 1))
      # This build of wget has no time limit.
      [ "$idle" = "$STALLED_AFTER" ] && killall wget 2> /dev/null
    else
      idle=0
      seen=${bytes:-0}
    fi
    now=$(($1 + ($2 - $1) * seen / $3))
    [ "$now" -gt "$2" ] && now=$2
    quiet=$((quiet + 1))
    [ "$now" -gt "$percent" ] || [ "$quiet" -ge "$REPORT_EVERY" ] || continue
    [ "$now" -gt "$percent" ] && percent=$now
    quiet=0
    report progress "$percent" 0
  done
  return "$(cat /tmp/ended)"
}

bytes_in_memory() { stat -c %s /image/packed 2> /dev/null; }
bytes_hashed() { sed -n 's/^rchar: //p' "/proc/$(pidof sha256sum | cut -d ' ' -f 1)/io" 2> /dev/null; }
bytes_written() { sed -n 's/^wchar: //p' "/proc/$(pidof dd | cut -d ' ' -f 1)/io" 2> /dev/null; }
