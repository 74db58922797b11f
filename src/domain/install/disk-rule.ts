/**
 * Which disk of a machine the installer writes to: a rule of the install profile, passed on the kernel command line.
 */

export const DISK_PICKS = ['first', 'smallest', 'largest'] as const;
export type DiskPick = (typeof DISK_PICKS)[number];

export interface DiskRule {
  /** Among the disks that fit the rest of the rule. */
  readonly pick: DiskPick;
  /** What the disk reports, with the wildcards * and ?; case does not matter. Empty: any. */
  readonly model: string;
  readonly serial: string;
  readonly minBytes: number | null;
  readonly maxBytes: number | null;
  /** Whether a disk on USB may be taken. */
  readonly usb: boolean;
}

/** Models and serials as disks report them, and the two wildcards: no character that a shell expands. */
export const DISK_PATTERN = /^[A-Za-z0-9 _.,:;=/@%+~()#&*?-]{1,80}$/;

/** Percent-encoded, but for letters, digits and a few signs. */
function encoded(text: string): string {
  return [...text]
    .map((character) =>
      /[A-Za-z0-9._*?-]/.test(character)
        ? character
        : `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('');
}

export function diskWords(rule: DiskRule | null): string[] {
  if (rule === null) return [];
  return [
    `ingot.disk.pick=${rule.pick}`,
    ...(rule.model === '' ? [] : [`ingot.disk.model=${encoded(rule.model)}`]),
    ...(rule.serial === '' ? [] : [`ingot.disk.serial=${encoded(rule.serial)}`]),
    ...(rule.minBytes === null ? [] : [`ingot.disk.min=${rule.minBytes}`]),
    ...(rule.maxBytes === null ? [] : [`ingot.disk.max=${rule.maxBytes}`]),
    ...(rule.usb ? ['ingot.disk.usb=yes'] : []),
  ];
}

const UNITS = { '': 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30, T: 2 ** 40 } as const;

/** 480000000000, 480G, 447GiB or 0.5T; units are powers of 1024. Null: not a size. */
export function readDiskSize(text: string): number | null {
  const match = /^(\d{1,15}(?:\.\d{1,3})?)\s*([KMGT]?)(?:i?B)?$/i.exec(text.trim());
  if (match?.[1] === undefined) return null;
  const unit = (match[2] ?? '').toUpperCase() as keyof typeof UNITS;
  const bytes = Math.floor(Number(match[1]) * UNITS[unit]);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : null;
}
