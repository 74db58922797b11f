/** Failures between the server and a machine of the datacenter: over SSH, over its BMC, while it installs. */
import type { FailureRow } from './advice.ts';

const SSH_FAILURES = {
  UNREACHABLE: {
    classes: ['retryable'],
    whatHappened: 'the host or the BMC does not answer',
    check: 'inspect its power, its network, and the endpoint in its spec',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
  AUTHENTICATION_FAILED: {
    classes: ['needs_human'],
    whatHappened: 'the host or the BMC does not accept our login',
    check: 'make the user and key or password of the provider those of the host or BMC',
    action: 'retry_stage',
    who: 'admin',
  },
  HOST_KEY_MISMATCH: {
    classes: ['needs_human'],
    whatHappened: 'the host key is not the one in the known hosts',
    check: 'make sure that it is the right host, then put its key into the known hosts',
    action: 'retry_stage',
    who: 'admin',
  },
  KNOWN_HOSTS_UNREADABLE: {
    classes: ['needs_human'],
    whatHappened: 'the file of known hosts cannot be read',
    check: 'make the file that the error names readable and well-formed',
    action: 'retry_stage',
    who: 'admin',
  },
  SSH_HANDSHAKE_FAILED: {
    classes: ['permanent'],
    whatHappened: 'the sshd of the host and Ingot have no key exchange or cipher in common',
    check: 'let the sshd accept a current key exchange, cipher and host key',
    action: 'retry_stage',
    who: 'site',
  },
  NO_SSH_ENDPOINT: {
    classes: ['retryable', 'permanent'],
    whatHappened: 'the machine has no spec.ssh_endpoint',
    check: 'set it',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} update {machine_id} --ssh-endpoint <host[:port]>'],
  },
  CONNECTION_LOST: {
    classes: ['effect_unknown'],
    whatHappened: 'the connection broke while the command ran',
    check: 'see on the host whether the command is done; if it is not, retry the stage instead',
    action: 'adopt_observed_state',
    who: 'operator',
  },
  COMMAND_INTERRUPTED: {
    classes: ['retryable'],
    whatHappened: 'the connection broke while a command ran that may be run again',
    check: 'inspect the network to the host; the next attempt runs the command again',
    action: 'retry_stage',
    who: 'site',
  },
  NETPLAN_MISSING: {
    classes: ['permanent'],
    whatHappened: 'there is no netplan on the host, or sudo does not let us run it',
    check:
      'install netplan on the host; where something else configures its network, use a plan with ssh steps',
    action: 'retry_stage',
    who: 'operator',
  },
  COMMAND_FAILED: {
    classes: ['retryable'],
    whatHappened: 'a command on the host ended with an error',
    check: 'read its output in the log of the step, and fix on the host what it names',
    action: 'retry_stage',
    who: 'operator',
  },
  HOST_UNREACHABLE: {
    classes: ['retryable'],
    whatHappened: 'the host does not report its boot id, so a reboot over SSH cannot be verified',
    check: 'bring its sshd back, and its boot device to the disk',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
} as const satisfies Record<string, FailureRow>;

const BMC_FAILURES = {
  PRIVILEGE_REFUSED: {
    classes: ['needs_human'],
    whatHappened: 'the BMC does not give our user the privilege that was asked for',
    check: 'give the user that privilege on the BMC, or lower bmc.privilege in the configuration',
    action: 'retry_stage',
    who: 'admin',
  },
  CIPHER_SUITE_REFUSED: {
    classes: ['permanent'],
    whatHappened: 'the BMC does not accept the cipher suite',
    check: 'allow it on the BMC, or set bmc.cipher_suite in the configuration to one that it has',
    action: 'retry_stage',
    who: 'admin',
  },
  BMC_BUSY: {
    classes: ['retryable'],
    whatHappened: 'the BMC has no free session',
    check: 'close sessions that others left open, or reset the BMC',
    action: 'retry_stage',
    who: 'site',
    waitedOut: true,
  },
  BMC_REFUSED: {
    classes: ['retryable'],
    whatHappened: 'the BMC refused the command',
    check: 'see what the BMC says in the error; its firmware or its state may forbid the command',
    action: 'retry_stage',
    who: 'site',
  },
  BOOT_DEVICE_NOT_SET: {
    classes: ['retryable'],
    whatHappened: 'the BMC accepted the boot device and reports another one',
    check: 'inspect the firmware of the BMC, and bmc.boot.ignore_valid_bit where it never shows valid flags',
    action: 'retry_stage',
    who: 'admin',
  },
  POWER_STAYS_ON: {
    classes: ['retryable'],
    whatHappened: 'the power was switched off, and stays on',
    check: 'inspect the machine on site: its BMC accepts the command without effect',
    action: 'retry_stage',
    who: 'site',
  },
  BMC_MISMATCH: {
    classes: ['needs_human'],
    whatHappened: 'the BMC in the spec switched the power of another machine',
    check: 'correct spec.bmc_endpoint or spec.ssh_endpoint, and check the state of the other machine',
    action: 'retry_stage',
    who: 'operator',
  },
  ADDRESS_NOT_ALLOWED: {
    classes: ['permanent'],
    whatHappened: 'the address is one that the server never connects to, or is not in allowed_networks',
    check:
      'correct the endpoint, or allow its network in the configuration; link-local, metadata and multicast addresses are never allowed',
    action: 'retry_stage',
    who: 'admin',
  },
  BMC_ADDRESS_NOT_ALLOWED: {
    classes: ['permanent'],
    whatHappened: "the address of the BMC is not in the provider's bmc.allowed_networks",
    check: 'correct spec.bmc_endpoint, or allow its network in the configuration',
    action: 'retry_stage',
    who: 'admin',
  },
  NO_BMC_ENDPOINT: {
    classes: ['permanent', 'needs_human'],
    whatHappened: 'the machine has no spec.bmc_endpoint that its provider can use',
    check: 'set it',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} update {machine_id} --bmc-endpoint <host[:port]>'],
  },
  REDFISH_NOT_SUPPORTED: {
    classes: ['permanent'],
    whatHappened: 'spec.bmc_endpoint is a URL, which means Redfish, and its provider has bmc.protocol ipmi',
    check: 'set it to host or host:port, or set bmc.protocol to auto',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} update {machine_id} --bmc-endpoint <host[:port]>'],
  },
  NOT_REDFISH: {
    classes: ['needs_human'],
    whatHappened:
      'what answers at spec.bmc_endpoint is no Redfish service: a web page, a redirect, another API',
    check: 'correct spec.bmc_endpoint, or enable Redfish on the BMC',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} update {machine_id} --bmc-endpoint <https://host>'],
  },
  BMC_CERTIFICATE_UNTRUSTED: {
    classes: ['needs_human'],
    whatHappened:
      'the certificate of the BMC is signed by no authority that is trusted, or is not the pinned one',
    check:
      'check on site whose certificate it is; then pin the SHA-256 that the error names with "ingot bmc trust", or name its authority in bmc.redfish.ca_file of the provider',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} bmc trust {machine_id}'],
  },
  REDFISH_SYSTEM_NOT_FOUND: {
    classes: ['permanent'],
    whatHappened:
      'the BMC does not have the system that spec.bmc_endpoint names, or has several and it names none',
    check: 'name the system, as in https://host/redfish/v1/Systems/1; the error lists those that there are',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} update {machine_id} --bmc-endpoint <https://host/redfish/v1/Systems/id>'],
  },
  HARDWARE_MISMATCH: {
    classes: ['needs_human'],
    whatHappened:
      'the hardware of the machine is not what its hardware profiles expect, or is not known, or no profile applies',
    check: 'compare both; repair the machine and inspect it again, or correct the profile',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} hardware show {machine_id}', '{ingot} inspect {machine_id}'],
  },
  REDFISH_NOT_OFFERED: {
    classes: ['permanent'],
    whatHappened:
      'the BMC does not offer what the step needs, such as a reset of that type or a boot override',
    check:
      'update the firmware of the BMC, or use IPMI for this machine; http:// endpoints need bmc.redfish.plaintext',
    action: 'retry_stage',
    who: 'site',
  },
  BOOT_WAY_NOT_OFFERED: {
    classes: ['permanent'],
    whatHappened:
      'the provider demands one way to boot the installer (bmc.boot.way), and the BMC or the server does not have it',
    check:
      'the end of the message says what is missing; bmc.boot.way: auto takes the strongest way that machine and BMC have',
    action: 'retry_stage',
    who: 'site',
  },
  REDFISH_UNREADABLE: {
    classes: ['retryable'],
    whatHappened: 'the BMC gave an answer that can not be read: cut off, too large, or of another shape',
    check:
      'look at the resource that the error names; a reset of the BMC, or its newest firmware, often helps',
    action: 'retry_stage',
    who: 'site',
  },
  IPMITOOL_MISSING: {
    classes: ['needs_human'],
    whatHappened: 'ipmitool is not installed where Ingot runs',
    check: 'install it there (Debian: apt install ipmitool)',
    action: 'retry_stage',
    who: 'admin',
  },
  IPMITOOL_FAILED: {
    classes: ['retryable'],
    whatHappened: 'ipmitool could not be started where Ingot runs',
    check: 'inspect the limits of the server: processes, open files, memory',
    action: 'retry_stage',
    who: 'admin',
  },
} as const satisfies Record<string, FailureRow>;

const INSTALL_FAILURES = {
  NO_MAC_ADDRESS: {
    classes: ['permanent', 'needs_human'],
    whatHappened: 'the machine has no spec.mac_addresses, by which the network knows it',
    check: 'set them',
    action: 'retry_stage',
    who: 'operator',
    commands: ['{ingot} update {machine_id} --mac <address>'],
  },
  MAC_TAKEN: {
    classes: ['permanent'],
    whatHappened: 'another machine has the same MAC address',
    check: 'correct spec.mac_addresses of this machine or of the other',
    action: 'retry_stage',
    who: 'operator',
  },
  WORKFLOW_NOT_FOUND: {
    classes: ['permanent'],
    whatHappened: 'the workflow of the node does not exist',
    check: 'create the workflow, or give the node one that exists',
    action: 'retry_stage',
    who: 'admin',
  },
  NO_IMAGE: {
    classes: ['permanent'],
    whatHappened: 'neither the operation nor the workflow of the node names an image',
    check: 'name an image in the workflow',
    action: 'retry_stage',
    who: 'admin',
  },
  IMAGE_NOT_FOUND: {
    classes: ['permanent', 'needs_human'],
    whatHappened: 'the image to install does not exist',
    check: 'add it with "ingot image add"; for a machine of a MAAS, import or upload it there',
    action: 'retry_stage',
    who: 'operator',
  },
  INSTALLER_NOT_BUILT: {
    classes: ['permanent'],
    whatHappened:
      'the server has no installer for machines of this architecture, or one of an earlier version',
    check: 'build it on the host of the server with "ingot installer build"',
    action: 'retry_stage',
    who: 'admin',
  },
  BOOT_FILE_MISSING: {
    classes: ['permanent'],
    whatHappened: 'the kernel or initramfs that the workflow names is not among the boot files of the server',
    check: 'put the file there, or name another in the workflow',
    action: 'retry_stage',
    who: 'admin',
  },
  NODE_NOT_INSTALLABLE: {
    classes: ['needs_human'],
    whatHappened: 'the node is in an install state that takes no installation',
    check: 'let its deprovisioning or migration come to its end',
    action: 'retry_stage',
    who: 'admin',
  },
  WRONG_INSTALL_STATE: {
    classes: ['needs_human'],
    whatHappened: 'the node is in an install state that neither an erasure nor a migration starts from',
    check: 'bring it to active, which the error names, with "ingot node state"',
    action: 'retry_stage',
    who: 'admin',
  },
  HARDWARE_MISMATCH: {
    classes: ['needs_human'],
    whatHappened: 'the hardware that took the place of the machine is not the hardware that was asked for',
    check:
      'boot the right machine, whose cables may be those of another; or cancel, and migrate with the right serial',
    action: 'retry_stage',
    who: 'site',
  },
  ERASE_FAILED: {
    classes: ['retryable', 'needs_human'],
    whatHappened: 'the disks could not be erased in as many attempts as the node has',
    check:
      'read in the history of the node which disk failed and why; replace it, or unlock it, or power-cycle a drive that is frozen',
    action: 'retry_stage',
    who: 'site',
  },
  ERASE_UNPROVEN: {
    classes: ['needs_human'],
    whatHappened: 'the node was retired, and nothing shows that its disks are erased',
    check: 'check on site what is on its disks; adopt only what you have verified',
    action: 'adopt_observed_state',
    who: 'site',
  },
} as const satisfies Record<string, FailureRow>;

export const HOST_FAILURES = { ...SSH_FAILURES, ...BMC_FAILURES, ...INSTALL_FAILURES } as const;
