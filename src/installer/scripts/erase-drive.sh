# The erase commands of drives: NVMe, ATA and secure discard.

ATA_PASSWORD=Ingot
# The controllers that were sanitized. A sanitize erases all namespaces of a controller.
sanitized=''

# 0: erased and verified, with $method and $result set. 1: not erased, with the reason in $not_done.
erase_by_command() {
  case $1 in
    nvme*) erase_nvme "$1" && return ;;
    sd*) erase_ata "$1" && return ;;
  esac
  secure_discard "$1"
}

# <disk> <method>: a command counts as successful only if no data is left.
accept() {
  if verify_disk "$1" all; then
    method=$2 result=erased
    return 0
  fi
  note "$2 was carried out and $verified"
  # The marks may be erased although the disk is not: the next method needs new marks as its proof.
  write_marks "$1"
  return 1
}

# --- NVMe

controller_of() { echo "$1" | sed 's/n[0-9]*$//'; }

# A number of `nvme id-ctrl`, in a form that busybox can calculate with.
controller_number() { nvme id-ctrl "$(device "$1")" 2> /dev/null | sed -n "s/^$2 *: *\(0x[0-9a-fA-F]*\|[0-9]*\).*/\1/p" | head -n 1; }

erase_nvme() {
  local controller abilities
  command -v nvme > /dev/null || { note 'this installer has no nvme program' && return 1; }
  controller=$(controller_of "$1")
  case " $sanitized " in *" $controller "*) accept "$1" nvme-sanitize && return 0 ;; esac
  abilities=$(controller_number "$controller" sanicap)
  if [ $((${abilities:-0} & 7)) -ne 0 ]; then
    if patiently sanitize "$controller" "$abilities"; then
      sanitized="$sanitized $controller"
      accept "$1" nvme-sanitize && return 0
    else
      note "nvme-sanitize failed: $(head -n 1 /tmp/drive.error)"
    fi
  fi
  abilities=$(controller_number "$controller" oacs)
  if [ $((${abilities:-0} & 2)) -eq 0 ]; then
    note 'the drive has no format command'
    return 1
  fi
  if patiently format_namespace "$1"; then
    accept "$1" nvme-format
  else
    note "nvme-format failed: $(head -n 1 /tmp/drive.error)"
    return 1
  fi
}

# Block erase, otherwise crypto erase, otherwise overwrite; waits until the drive reports the result.
sanitize() {
  local action status
  action=3
  [ $(($2 & 1)) -eq 0 ] || action=4
  [ $(($2 & 2)) -eq 0 ] || action=2
  nvme sanitize "$(device "$1")" --sanact="$action" > /dev/null 2> /tmp/drive.error || return 1
  while :; do
    sleep 1
    nvme sanitize-log "$(device "$1")" > /tmp/sanitize-log 2> /tmp/drive.error || return 1
    status=$(sed -n 's/.*(SSTAT) *: *\(0x[0-9a-fA-F]*\|[0-9]*\).*/\1/p' /tmp/sanitize-log | head -n 1)
    case $((${status:-0} & 7)) in
      1 | 4) return 0 ;;
      2) sed -n 's/.*(SPROG) *: *\([0-9]*\).*/\1/p' /tmp/sanitize-log | awk '{ print int($1 * 100 / 65536) }' > /tmp/progress ;;
      *)
        echo "the drive ended it with status ${status:-none}" > /tmp/drive.error
        return 1
        ;;
    esac
  done
}

# Erases the user data, otherwise the key that it is encrypted with.
format_namespace() {
  nvme format "$(device "$1")" --ses=1 --force --timeout=7200000 > /dev/null 2> /tmp/drive.error \
    || nvme format "$(device "$1")" --ses=2 --force --timeout=7200000 > /dev/null 2> /tmp/drive.error
}

# --- ATA

# The security state of the drive is read again after each command.
read_security() { hdparm -I "$(device "$1")" 2> /dev/null | sed -n '/^Security:/,/^[A-Z]/p' > /tmp/security; }
says() { grep -q -E "^[[:space:]]+($1)\$" /tmp/security; }

erase_ata() {
  command -v hdparm > /dev/null || { note 'this installer has no hdparm program' && return 1; }
  read_security "$1"
  says supported || { note 'the drive has no ATA secure erase' && return 1; }
  ! says frozen || { note 'its firmware has frozen the security of the drive, so that it takes no secure erase' && return 1; }
  ! says 'locked|enabled' || { note 'the drive is locked by a password that is not ours' && return 1; }
  if ! hdparm --user-master u --security-set-pass "$ATA_PASSWORD" "$(device "$1")" > /dev/null 2> /tmp/drive.error; then
    note "the drive took no password for a secure erase: $(head -n 1 /tmp/drive.error)"
    return 1
  fi
  if says 'supported: enhanced erase'; then
    ata_command "$1" --security-erase-enhanced ata-enhanced && return 0
  fi
  ata_command "$1" --security-erase ata-secure-erase && return 0
  unlock_ata "$1"
  return 1
}

ata_command() {
  if ! patiently ata_erase "$1" "$2"; then
    note "$3 failed: $(head -n 1 /tmp/drive.error)"
    return 1
  fi
  accept "$1" "$3"
}

# hdparm exits with 0 also if the drive has failed: the drive itself reports whether its password is removed.
ata_erase() {
  hdparm --user-master u "$2" "$ATA_PASSWORD" "$(device "$1")" > /dev/null 2> /tmp/drive.error || return 1
  read_security "$1"
  says enabled || return 0
  echo 'the drive still has its password' > /tmp/drive.error
  return 1
}

# Removes our password, so that no drive stays locked.
unlock_ata() {
  read_security "$1"
  says enabled || return 0
  hdparm --user-master u --security-disable "$ATA_PASSWORD" "$(device "$1")" > /dev/null 2>&1
  read_security "$1"
  ! says enabled || note "the drive is still locked by the password $ATA_PASSWORD"
}

# --- secure discard

secure_discard() {
  if ! patiently blkdiscard_secure "$1"; then
    note 'the disk has no secure discard'
    return 1
  fi
  accept "$1" blkdiscard-secure
}

blkdiscard_secure() { blkdiscard -s "$(device "$1")" > /dev/null 2> /tmp/drive.error; }
