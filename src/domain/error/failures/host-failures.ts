/** Failures between the server and a machine of the datacenter: over SSH, over its BMC, while it installs. */
import type { FailureAdvice } from './advice.ts';

const SSH_FAILURES = {
  UNREACHABLE: {
    whatHappened: 'the host or the BMC does not answer',
    check: 'inspect its power, its network, and the endpoint in its spec',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
  AUTHENTICATION_FAILED: {
    whatHappened: 'the host or the BMC does not accept our login',
    check: 'make the user and key or password of the provider those of the host or BMC',
    action: 'retry_stage',
    who: 'admin',
  },
  HOST_KEY_MISMATCH: {
    whatHappened: 'the host shows another key than the one that is known',
    check: 'make sure that it is the right host, then put its key into the known hosts',
    action: 'retry_stage',
    who: 'admin',
  },
  KNOWN_HOSTS_UNREADABLE: {
    whatHappened: 'the file of known hosts cannot be read',
    check: 'make the file that the error names readable and well-formed',
    action: 'retry_stage',
    who: 'admin',
  },
  SSH_HANDSHAKE_FAILED: {
    whatHappened: 'the sshd of the host and Ingot have no way of encryption in common',
    check: 'let the sshd accept a current key exchange, cipher and host key',
    action: 'retry_stage',
    who: 'site',
  },
  NO_SSH_ENDPOINT: {
    whatHappened: 'the machine has no spec.ssh_endpoint',
    check: 'set it',
    action: 'retry_stage',
    who: 'operator',
  },
  CONNECTION_LOST: {
    whatHappened: 'the connection broke while the command ran',
    check: 'see on the host whether the command is done; if it is not, retry the stage instead',
    action: 'adopt_observed_state',
    who: 'operator',
  },
  COMMAND_INTERRUPTED: {
    whatHappened: 'the connection broke while a command ran that may be run again',
    check: 'inspect the network to the host; the next attempt runs the command again',
    action: 'retry_stage',
    who: 'site',
  },
  NETPLAN_MISSING: {
    whatHappened: 'there is no netplan on the host, or sudo does not let us run it',
    check:
      'install netplan on the host; where something else configures its network, use a plan with ssh steps',
    action: 'retry_stage',
    who: 'operator',
  },
  COMMAND_FAILED: {
    whatHappened: 'a command on the host ended with an error',
    check: 'read its output in the log of the step, and fix on the host what it names',
    action: 'retry_stage',
    who: 'operator',
  },
  HOST_UNREACHABLE: {
    whatHappened: 'the host does not say which boot it is in, so a reboot over SSH could not be seen',
    check: 'bring its sshd back, and its boot device to the disk',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
} as const satisfies Record<string, FailureAdvice>;

const BMC_FAILURES = {
  PRIVILEGE_REFUSED: {
    whatHappened: 'the BMC does not give our user the privilege that was asked for',
    check: 'give the user that privilege on the BMC, or lower bmc.privilege in the configuration',
    action: 'retry_stage',
    who: 'admin',
  },
  CIPHER_SUITE_REFUSED: {
    whatHappened: 'the BMC does not accept the cipher suite',
    check: 'allow it on the BMC, or set bmc.cipher_suite in the configuration to one that it has',
    action: 'retry_stage',
    who: 'admin',
  },
  BMC_BUSY: {
    whatHappened: 'the BMC has no free session',
    check: 'close sessions that others left open, or reset the BMC',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
  BMC_REFUSED: {
    whatHappened: 'the BMC refused the command',
    check: 'see what the BMC says in the error; its firmware or its state may forbid the command',
    action: 'retry_stage',
    who: 'site',
  },
  BOOT_DEVICE_NOT_SET: {
    whatHappened: 'the BMC took the boot device and shows another one',
    check: 'inspect the firmware of the BMC, and bmc.boot.ignore_valid_bit where it never shows valid flags',
    action: 'retry_stage',
    who: 'admin',
  },
  POWER_STAYS_ON: {
    whatHappened: 'the power was switched off, and stays on',
    check: 'inspect the machine at its place: its BMC obeys and does not act',
    action: 'retry_stage',
    who: 'site',
  },
  BMC_MISMATCH: {
    whatHappened: 'the BMC in the spec switched the power of another machine',
    check: 'correct spec.bmc_endpoint or spec.ssh_endpoint, and see what became of the other machine',
    action: 'retry_stage',
    who: 'operator',
  },
  BMC_ADDRESS_NOT_ALLOWED: {
    whatHappened: "the address of the BMC is not in the provider's bmc.allowed_networks",
    check: 'correct spec.bmc_endpoint, or allow its network in the configuration',
    action: 'retry_stage',
    who: 'admin',
  },
  NO_BMC_ENDPOINT: {
    whatHappened: 'the machine has no spec.bmc_endpoint that its provider can use',
    check: 'set it',
    action: 'retry_stage',
    who: 'operator',
  },
  REDFISH_NOT_SUPPORTED: {
    whatHappened: 'spec.bmc_endpoint is a URL, which means Redfish, and this provider uses IPMI alone',
    check: 'set it to host or host:port',
    action: 'retry_stage',
    who: 'operator',
  },
  IPMITOOL_MISSING: {
    whatHappened: 'ipmitool is not installed where Ingot runs',
    check: 'install it there (Debian: apt install ipmitool)',
    action: 'retry_stage',
    who: 'admin',
  },
  IPMITOOL_FAILED: {
    whatHappened: 'ipmitool could not be started where Ingot runs',
    check: 'inspect the limits of the server: processes, open files, memory',
    action: 'retry_stage',
    who: 'admin',
  },
} as const satisfies Record<string, FailureAdvice>;

const INSTALL_FAILURES = {
  NO_MAC_ADDRESS: {
    whatHappened: 'the machine has no spec.mac_addresses, by which the network knows it',
    check: 'set them',
    action: 'retry_stage',
    who: 'operator',
  },
  MAC_TAKEN: {
    whatHappened: 'another machine has the same MAC address',
    check: 'correct spec.mac_addresses of this machine or of the other',
    action: 'retry_stage',
    who: 'operator',
  },
  WORKFLOW_NOT_FOUND: {
    whatHappened: 'the workflow of the node does not exist',
    check: 'create the workflow, or give the node one that exists',
    action: 'retry_stage',
    who: 'admin',
  },
  NO_IMAGE: {
    whatHappened: 'neither the operation nor the workflow of the node names an image',
    check: 'name an image in the workflow',
    action: 'retry_stage',
    who: 'admin',
  },
  IMAGE_NOT_FOUND: {
    whatHappened: 'the image that shall be installed does not exist',
    check: 'add it with "ingot image add"; for a machine of a MAAS, import or upload it there',
    action: 'retry_stage',
    who: 'operator',
  },
  INSTALLER_NOT_BUILT: {
    whatHappened:
      'the server has no installer for machines of this architecture, or one of an earlier version',
    check: 'build it on the host of the server with "ingot installer build"',
    action: 'retry_stage',
    who: 'admin',
  },
  BOOT_FILE_MISSING: {
    whatHappened: 'the kernel or initramfs that the workflow names is not among the boot files of the server',
    check: 'put the file there, or name another in the workflow',
    action: 'retry_stage',
    who: 'admin',
  },
  NODE_NOT_INSTALLABLE: {
    whatHappened: 'the node is in an install state that takes no installation',
    check: 'let its deprovisioning or migration come to its end',
    action: 'retry_stage',
    who: 'admin',
  },
  WRONG_INSTALL_STATE: {
    whatHappened: 'the node is in an install state that neither an erasure nor a migration starts from',
    check: 'bring it to active, which the error names, with "ingot node state"',
    action: 'retry_stage',
    who: 'admin',
  },
  HARDWARE_MISMATCH: {
    whatHappened: 'the hardware that took the place of the machine reports to be another than was asked for',
    check:
      'boot the right machine, whose cables may be those of another; or cancel, and migrate with the right serial',
    action: 'retry_stage',
    who: 'site',
  },
  ERASE_FAILED: {
    whatHappened: 'the disks could not be erased, as often as the node may try',
    check:
      'read in the history of the node which disk failed and why; replace it, or unlock it, or power-cycle a drive that is frozen',
    action: 'retry_stage',
    who: 'site',
  },
  ERASE_UNPROVEN: {
    whatHappened: 'the node was retired, and nothing shows that its disks are erased',
    check: 'see at the machine what is on its disks; adopt only what you have seen',
    action: 'adopt_observed_state',
    who: 'site',
  },
} as const satisfies Record<string, FailureAdvice>;

export const HOST_FAILURES = { ...SSH_FAILURES, ...BMC_FAILURES, ...INSTALL_FAILURES } as const;
