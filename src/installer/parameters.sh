# What the server says on the kernel's command line.

read_parameters() {
  url='' mac='' token='' image='' sha256='' size='' wanted_disk='' post='' mode=install overwrite=ends
  for word in $(cat /proc/cmdline); do
    case $word in
      ingot.url=*) url=${word#*=} ;;
      ingot.mac=*) mac=$(printf '%s' "${word#*=}" | tr 'A-F-' 'a-f:') ;;
      ingot.token=*) token=${word#*=} ;;
      ingot.image=*) image=${word#*=} ;;
      ingot.sha256=*) sha256=$(printf '%s' "${word#*=}" | tr 'A-F' 'a-f') ;;
      ingot.size=*) size=${word#*=} ;;
      ingot.disk=*) wanted_disk=${word#*=} ;;
      ingot.post=*) post=${word#*=} ;;
      ingot.mode=*) mode=${word#*=} ;;
      ingot.overwrite=*) overwrite=${word#*=} ;;
    esac
  done
  url=${url%/}
  wanted_disk=${wanted_disk#/dev/}
}

check_parameters() {
  case $image in http://* | https://*) ;; *) fail "the command line names no image: ingot.image=$image" ;; esac
  case $sha256 in *[!0-9a-f]*) sha256='' ;; esac
  [ "${#sha256}" = 64 ] || fail 'the command line names no digest: ingot.sha256 must be 64 hexadecimal digits'
  case $size in '' | 0* | *[!0-9]*) fail "the command line names no size: ingot.size=$size" ;; esac
  case $wanted_disk in */* | .*) fail "not the name of a disk: ingot.disk=$wanted_disk" ;; esac
}
