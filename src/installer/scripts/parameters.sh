# The parameters of the server, on the kernel command line.

# Special characters are encoded as in a URL: %20 is a space.
decoded() { printf '%b' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/%\([0-9A-Fa-f][0-9A-Fa-f]\)/\\x\1/g')"; }

# read_parameters <file>
read_parameters() {
  url='' once='' mac='' token='' image='' sha256='' size='' wanted_disk='' post='' mode=install overwrite=ends burn_tests='' burn_seconds=''
  disk_rule_pick=first disk_rule_model='' disk_rule_serial='' disk_rule_min='' disk_rule_max='' disk_usb=no seed=no unknown_words=''
  for word in $(cat "$1"); do
    case $word in
      ingot.url=*) url=${word#*=} ;;
      ingot.once=*) once=${word#*=} ;;
      ingot.mac=*) mac=$(printf '%s' "${word#*=}" | tr 'A-F-' 'a-f:') ;;
      ingot.token=*) token=${word#*=} ;;
      ingot.image=*) image=${word#*=} ;;
      ingot.sha256=*) sha256=$(printf '%s' "${word#*=}" | tr 'A-F' 'a-f') ;;
      ingot.size=*) size=${word#*=} ;;
      # The rule is in further parameters. An installer without support for rules finds no disk of this name, and fails.
      ingot.disk=by-rule) ;;
      ingot.disk=*) wanted_disk=${word#*=} ;;
      ingot.disk.pick=*) disk_rule_pick=${word#*=} ;;
      ingot.disk.model=*) disk_rule_model=$(decoded "${word#*=}") ;;
      ingot.disk.serial=*) disk_rule_serial=$(decoded "${word#*=}") ;;
      ingot.disk.min=*) disk_rule_min=${word#*=} ;;
      ingot.disk.max=*) disk_rule_max=${word#*=} ;;
      ingot.disk.usb=*) disk_usb=${word#*=} ;;
      ingot.seed=*) seed=${word#*=} ;;
      ingot.post=*) post=${word#*=} ;;
      ingot.mode=*) mode=${word#*=} ;;
      ingot.tests=*) burn_tests=${word#*=} ;;
      ingot.seconds=*) burn_seconds=${word#*=} ;;
      ingot.overwrite=*) overwrite=${word#*=} ;;
      ingot.*) unknown_words="$unknown_words ${word%%=*}" ;;
    esac
  done
  url=${url%/}
  wanted_disk=${wanted_disk#/dev/}
}

# An unknown parameter is an error: ignoring it could do harm.
check_words() {
  [ -z "$unknown_words" ] || fail "this installer does not know$unknown_words: build it again with \`ingot installer build\`"
}

check_parameters() {
  case $image in http://* | https://*) ;; *) fail "the command line names no image: ingot.image=$image" ;; esac
  case $sha256 in *[!0-9a-f]*) sha256='' ;; esac
  [ "${#sha256}" = 64 ] || fail 'the command line names no digest: ingot.sha256 must be 64 hexadecimal digits'
  case $size in '' | 0* | *[!0-9]*) fail "the command line names no size: ingot.size=$size" ;; esac
  case $disk_rule_min$disk_rule_max in *[!0-9]*) fail 'ingot.disk.min and ingot.disk.max must be numbers of bytes' ;; esac
  case $disk_rule_pick in first | smallest | largest) ;; *) fail "not a way to pick a disk: ingot.disk.pick=$disk_rule_pick" ;; esac
  case $wanted_disk in */* | .*) fail "not the name of a disk: ingot.disk=$wanted_disk" ;; esac
}

# A disc has no parameters of its boot: the server gives them once, to the machine that was booted from it.
fetch_parameters() {
  local give_up pause
  give_up=$(($(uptime_seconds) + 300))
  pause=1
  until timeout 20 wget -q -O /tmp/parameters "$url/boot/once/$once/parameters" 2> /tmp/parameters.error; do
    say "the parameters were not fetched: $(cat /tmp/parameters.error)"
    if grep -q -E 'HTTP/1\.[01] 4' /tmp/parameters.error; then
      say 'the server wants nothing from this disc: nothing was written'
      restart 30
    fi
    [ "$(uptime_seconds)" -lt "$give_up" ] || restart 10
    sleep "$pause"
    pause=$((pause < 16 ? pause * 2 : 30))
  done
  read_parameters /tmp/parameters
}
