/** What the simulated MAAS has besides machines: its user, its settings, its images, and where machines can be put. */
import { Refusal } from './refusal.ts';
import type { SimMachine } from './sim-machine.ts';

/** In the words of models/config.py, with its defaults. */
export const DEFAULT_SETTINGS = {
  enable_disk_erasing_on_release: false,
  disk_erase_with_secure_erase: true,
  disk_erase_with_quick_erase: false,
  default_min_hwe_kernel: '',
} as const;

export type SettingName = keyof typeof DEFAULT_SETTINGS;
export type Settings = { [name in SettingName]: boolean | string };

/** The order matters: a kernel that is named later is newer. */
export const KERNELS = ['ga-22.04', 'hwe-22.04', 'ga-24.04', 'hwe-24.04', 'hwe-24.04-edge'] as const;

/** Scripts and their tags, by what they are for. */
export const SCRIPTS = {
  commissioning: ['update_firmware', 'configure_hba', 'site-firmware'],
  testing: ['none', 'commissioning', 'smartctl-validate', 'memtester', 'site-burn-in'],
} as const;

export class SimSite {
  /** Whom the API key belongs to. */
  user = { username: 'ingot', isAdmin: true };
  readonly settings: Settings = { ...DEFAULT_SETTINGS };
  zones = ['default'];
  pools = ['default'];
  domains = ['maas'];
  tags = ['virtual'];
}

/** permissions.py: the permission that a request needs on a machine. */
export type Permission = 'view' | 'edit' | 'lock' | 'admin_read' | 'admin';

/** auth/local.py: a locked machine is refused like one of another owner, with an empty answer. */
export function checkPermission({ user }: SimSite, machine: SimMachine, permission: Permission): void {
  const isOwn = machine.owner === null || machine.owner === user.username;
  const needsAdmin = permission === 'admin' || permission === 'admin_read';
  const mayAlways = permission === 'view' || permission === 'lock' || permission === 'admin_read';
  if ((machine.locked && !mayAlways) || !(user.isAdmin || (isOwn && !needsAdmin))) throw new Refusal(403, '');
}
