"""Drives a Redfish service with sushy, the client of OpenStack, and prints what it saw as JSON."""
import json
import sys
import time

import sushy

url, user, password, authority, image = sys.argv[1:6]
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
bios = system.bios
before = dict(bios.attributes)
bios.set_attribute("LogicalProc", "Disabled")
seen["bios_waits"] = [bios.attributes["LogicalProc"], bios.pending_attributes["LogicalProc"]]
system.reset_system(sushy.ResetType.ON)
bios.refresh(force=True)
changed = {name: value for name, value in bios.attributes.items() if before[name] != value}
seen["bios_after"] = changed


def tasks():
    service = root.get_task_service()
    service.tasks.refresh(force=True)
    members = service.tasks.get_members()
    for task in members:
        task.refresh(force=True)
    return members


# A change of settings may be a job, which goes on at the boot.
until = time.monotonic() + 20
while any(task.task_state.value != "Completed" for task in tasks()) and time.monotonic() < until:
    time.sleep(0.1)
seen["jobs"] = [[task.name, task.task_state.value, task.percent_complete] for task in tasks()]
if image:
    updates = root.get_update_service()
    update = updates.simple_update(image, transfer_protocol=sushy.UpdateTransferProtocolType.HTTP)
    seen["update_starts"] = update.is_processing
    update.wait(20)
    seen["update_ends"] = update.is_processing
    seen["update"] = [[task.name, task.task_state.value] for task in tasks()][-1]
    entries = {entry.name: entry.version for entry in updates.firmware_inventory.get_members()}
    seen["firmware"] = entries["BIOS"]
try:
    sushy.Sushy(url, username=user, password="wrong", verify=authority).get_system_collection()
except sushy.exceptions.AccessError:
    seen["wrong_password"] = "refused"
print(json.dumps(seen))
