/**
 * The evidence of an erasure: for each disk, what was done and what was not. The machine reports each disk; the
 * outcome for the machine is decided here, and is never better than its worst disk.
 */

/** How a disk was erased, the most certain method first. */
export const ERASE_METHODS = {
  'nvme-sanitize': 'NVMe sanitize: the controller erased all blocks, those out of reach included',
  'nvme-format': 'NVMe format with secure erase: the controller erased the user data of the namespace',
  'ata-enhanced': 'ATA enhanced secure erase: the drive erased all sectors, reallocated ones included',
  'ata-secure-erase': 'ATA secure erase: the drive erased all sectors that can be addressed',
  'blkdiscard-secure': 'secure discard of the whole disk',
  'bmc-block-erase': 'Drive.SecureErase of the BMC, block erase: the drive erased all blocks',
  'bmc-cryptographic-erase':
    'Drive.SecureErase of the BMC, cryptographic erase: the drive replaced its encryption key',
  'bmc-overwrite': 'Drive.SecureErase of the BMC, overwrite: the drive overwrote all blocks',
  'bmc-secure-erase': 'Drive.SecureErase of the BMC, in the way of its controller',
  'overwrite-full': 'zeros over every block that can be addressed',
  'overwrite-partial': 'zeros over the first and the last part alone',
  none: 'nothing was done',
} as const satisfies Record<string, string>;

export type EraseMethod = keyof typeof ERASE_METHODS;
export const ERASE_METHOD_NAMES = Object.keys(ERASE_METHODS) as EraseMethod[];

export const ERASE_RESULTS = ['erased', 'partial', 'failed'] as const;
export type EraseResult = (typeof ERASE_RESULTS)[number];

/** How much of a disk without an erase command is overwritten. */
export const OVERWRITES = ['ends', 'whole'] as const;
export type Overwrite = (typeof OVERWRITES)[number];

export interface DiskErasure {
  readonly name: string;
  readonly model: string;
  readonly serial: string;
  /** Null: not reported. */
  readonly size_bytes: number | null;
  readonly method: EraseMethod;
  readonly result: EraseResult;
  /** What was read back afterwards, and the result. */
  readonly verified: string;
  /** What was not done, and why; empty: nothing. */
  readonly not_done: string;
  readonly seconds: number | null;
  /** When it was over, where that is known of each disk. */
  readonly at?: string;
}

/** A disk that is not part of the machine: removable, on USB, read-only. */
export interface SkippedDisk {
  readonly name: string;
  readonly reason: string;
}

export interface ErasedDisks {
  readonly disks: readonly DiskErasure[];
  readonly skipped: readonly SkippedDisk[];
}

/** Unproven: the machine reported success without naming a disk. */
export type EraseOutcome = EraseResult | 'unproven';

export interface Erasure extends ErasedDisks {
  readonly outcome: EraseOutcome;
  /** The time of the report. */
  readonly at: string;
  /** Null: an admin started it by setting the state. */
  readonly operation_id: string | null;
}

export function eraseOutcome({ disks }: ErasedDisks): EraseOutcome {
  if (disks.length === 0) return 'unproven';
  if (disks.some(({ result }) => result === 'failed')) return 'failed';
  return disks.some(({ result }) => result === 'partial') ? 'partial' : 'erased';
}

/** One sentence that claims nothing beyond the evidence. */
export function erasureText({ outcome, disks, skipped }: Omit<Erasure, 'at' | 'operation_id'>): string {
  const left = skipped.length === 0 ? '' : `; not touched: ${skipped.map(skippedText).join(', ')}`;
  switch (outcome) {
    case 'unproven':
      return `the node reported the erasure complete and named no disk: nothing is proven${left}`;
    case 'erased':
      return `erased: ${disks.map(diskText).join(', ')}${left}`;
    case 'partial':
      return `partly erased: ${disks.map(diskText).join(', ')}${left}`;
    case 'failed':
      return `not erased: ${disks.map(diskText).join(', ')}${left}`;
  }
}

function diskText({ name, serial, method, result, not_done: notDone }: DiskErasure): string {
  const who = serial === '' ? name : `${name} (serial ${serial})`;
  const how = result === 'failed' ? 'failed' : `by ${method}`;
  return `${who} ${how}${notDone === '' ? '' : `, not done: ${notDone}`}`;
}

function skippedText({ name, reason }: SkippedDisk): string {
  return `${name} (${reason})`;
}

const OUTCOME_TEXTS = {
  erased: 'erased',
  partial: 'partly erased',
  failed: 'not erased',
  unproven: 'reported as complete, and no disk was named: nothing is proven',
} as const satisfies Record<EraseOutcome, string>;

export function outcomeText(outcome: EraseOutcome): string {
  return OUTCOME_TEXTS[outcome];
}

/** One line for each disk: what was done, what was read back, what was not done. */
export function erasureLines({ disks, skipped }: ErasedDisks): [label: string, text: string][] {
  return [
    ...disks.map((disk): [string, string] => [disk.name, evidenceText(disk)]),
    ...skipped.map(({ name, reason }): [string, string] => [name, `not touched: ${reason}`]),
  ];
}

function evidenceText({ model, serial, method, result, verified, not_done: notDone }: DiskErasure): string {
  const how = method === 'none' ? '' : ` by ${method}`;
  return [
    `${result}${how}`,
    ...(model === '' ? [] : [`model ${model}`]),
    ...(serial === '' ? [] : [`serial ${serial}`]),
    ...(verified === '' ? [] : [`read back: ${verified}`]),
    ...(notDone === '' ? [] : [`not done: ${notDone}`]),
  ].join('; ');
}
