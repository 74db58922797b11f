/**
 * Which operations explain that a machine has rebooted. A step of any kind may have rebooted it unless its row here says that
 * it never does: an unknown kind explains a reboot, so that no machine is a lemon because of what we did.
 */
const NEVER_REBOOTS = {
  netboot: 'writes the boot configuration; the step after it reboots',
  'boot-override': 'sets the next boot device',
  media: 'inserts or ejects a disc',
  phase: 'changes a record',
  join: 'asks the cluster',
  verify: 'asks the cluster',
  cluster: 'asks the cluster',
  'verify-hardware': 'compares records',
  'clear-log': 'empties a log of the BMC',
  'power-cap': 'sets a limit of the BMC',
  'bmc-reset': 'restarts the BMC; the host runs on',
  'rotate-password': 'changes an account of the BMC',
} as const satisfies Record<string, string>;

/** The step kinds that leave the host running. */
export const KINDS_WITHOUT_REBOOT: readonly string[] = Object.keys(NEVER_REBOOTS);
