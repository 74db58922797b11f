/** The numbers and names of MAAS, and how long its work takes at the normal speed of the clock. */
export const STATUS = {
  NEW: 0,
  COMMISSIONING: 1,
  FAILED_COMMISSIONING: 2,
  MISSING: 3,
  READY: 4,
  RESERVED: 5,
  DEPLOYED: 6,
  RETIRED: 7,
  BROKEN: 8,
  DEPLOYING: 9,
  ALLOCATED: 10,
  FAILED_DEPLOYMENT: 11,
  RELEASING: 12,
  FAILED_RELEASING: 13,
  DISK_ERASING: 14,
  FAILED_DISK_ERASING: 15,
  TESTING: 21,
  FAILED_TESTING: 22,
} as const;
export type Status = (typeof STATUS)[keyof typeof STATUS];

export const STATUS_NAMES = {
  0: 'New',
  1: 'Commissioning',
  2: 'Failed commissioning',
  3: 'Missing',
  4: 'Ready',
  5: 'Reserved',
  6: 'Deployed',
  7: 'Retired',
  8: 'Broken',
  9: 'Deploying',
  10: 'Allocated',
  11: 'Failed deployment',
  12: 'Releasing',
  13: 'Releasing failed',
  14: 'Disk erasing',
  15: 'Failed disk erasing',
  21: 'Testing',
  22: 'Failed testing',
} as const satisfies Record<Status, string>;

export function statusNamed(name: string): Status | null {
  const entry = Object.entries(STATUS_NAMES).find(([, known]) => known === name);
  return entry ? (Number(entry[0]) as Status) : null;
}

/** In seconds of the simulated clock. */
export const SECONDS = {
  commissioning: 300,
  deploying: 600,
  /** How long MAAS waits for a deployment that says nothing. */
  deployTimeout: 1800,
  erasing: 600,
  quickErasing: 120,
  releasing: 60,
  power: 5,
  syncInterval: 900,
  /** From the first boot to the first report. */
  firstSync: 30,
  agentBoot: 20,
  keepalive: 60,
} as const;

export const RELEASABLE: readonly Status[] = [
  STATUS.ALLOCATED,
  STATUS.RESERVED,
  STATUS.BROKEN,
  STATUS.DEPLOYING,
  STATUS.DEPLOYED,
  STATUS.FAILED_DEPLOYMENT,
  STATUS.FAILED_DISK_ERASING,
  STATUS.FAILED_RELEASING,
];

/** Commission of node_action.py: a machine whose tests failed is not among them. */
export const COMMISSIONABLE: readonly Status[] = [
  STATUS.NEW,
  STATUS.FAILED_COMMISSIONING,
  STATUS.READY,
  STATUS.BROKEN,
];

/** Where interfaces may be changed. */
export const NETWORK_EDITABLE: readonly Status[] = [
  STATUS.NEW,
  STATUS.READY,
  STATUS.ALLOCATED,
  STATUS.BROKEN,
];
