"""Drives a Redfish service with sushy, the client of OpenStack, and prints what it saw as JSON."""
import json
import sys

import sushy

url, user, password, authority = sys.argv[1:5]
root = sushy.Sushy(url, username=user, password=password, verify=authority)
system = root.get_system_collection().get_members()[0]
seen = {
    "version": root.redfish_version,
    "resets": sorted(value.value for value in system.get_allowed_reset_system_values()),
    "before": system.power_state.value,
}
system.reset_system(sushy.ResetType.ON)
system.refresh(force=True)
seen["after_on"] = system.power_state.value
system.set_system_boot_options(
    target=sushy.BootSource.PXE, enabled=sushy.BootSourceOverrideEnabled.ONCE
)
system.refresh(force=True)
seen["boot"] = [system.boot.target.value, system.boot.enabled.value]
discs = {sushy.BootSource.CD, sushy.BootSource.USB_CD} & system.get_allowed_system_boot_source_values()
system.set_system_boot_options(
    target=discs.pop(), enabled=sushy.BootSourceOverrideEnabled.ONCE, mode=sushy.BootSourceOverrideMode.UEFI
)
system.refresh(force=True)
seen["boot_disc"] = [system.boot.target.value, system.boot.mode.value]
system.set_system_boot_options(enabled=sushy.BootSourceOverrideEnabled.DISABLED)
system.refresh(force=True)
seen["boot_off"] = system.boot.enabled.value
service = root.get_session_service()
seen["session_timeout"] = service.session_timeout
seen["sessions"] = len(service.sessions.get_members())
system.reset_system(sushy.ResetType.FORCE_OFF)
system.refresh(force=True)
seen["after_off"] = system.power_state.value
drive = root.get_manager("/redfish/v1/Managers/1").virtual_media.get_members()[0]
drive.insert_media("http://site.example/rescue.iso")
drive.refresh(force=True)
seen["inserted"] = [drive.inserted, drive.image]
drive.eject_media()
drive.refresh(force=True)
seen["ejected"] = drive.inserted
try:
    sushy.Sushy(url, username=user, password="wrong", verify=authority).get_system_collection()
except sushy.exceptions.AccessError:
    seen["wrong_password"] = "refused"
print(json.dumps(seen))
