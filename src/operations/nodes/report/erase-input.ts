/**
 * Reads what a machine reports of its disks. A field that cannot be read is dropped, never the report, and a disk
 * never counts as better erased than the rest of its entry says.
 */
import {
  type DiskErasure,
  ERASE_METHOD_NAMES,
  ERASE_RESULTS,
  type ErasedDisks,
  type EraseMethod,
  type EraseResult,
  type SkippedDisk,
} from '../../../domain/install/erasure.ts';
import {
  type LenientReader,
  lenientChoice,
  lenientCount,
  lenientLine,
  lenientList,
  lenientObject,
} from '../../lenient.ts';

const MAX_DISKS = 1024;
const name = lenientLine(64);
const line = lenientLine(300);
const count = lenientCount(0, Number.MAX_SAFE_INTEGER);

const disk = lenientObject({
  name,
  model: line,
  serial: line,
  size_bytes: count,
  method: lenientChoice(ERASE_METHOD_NAMES),
  result: lenientChoice(ERASE_RESULTS),
  verified: line,
  not_done: line,
  seconds: count,
});
const skippedDisk = lenientObject({ name, reason: line });
const evidence = lenientObject({
  disks: lenientList(disk, MAX_DISKS),
  skipped: lenientList(skippedDisk, MAX_DISKS),
});

/** Undefined: no evidence at all. */
export const readErased: LenientReader<ErasedDisks> = (value, field, note) => {
  const read = evidence(value, field, note);
  if (read === undefined) return undefined;
  const disks = (read.disks ?? []).map(diskOf);
  const lost = disks.length === 0 ? 0 : entriesOf(value) - disks.length;
  return {
    disks: lost > 0 ? [...disks, unknownDisks(lost)] : disks,
    skipped: (read.skipped ?? []).map(skippedOf),
  };
};

function entriesOf(value: unknown): number {
  const { disks } = Object(value);
  return Array.isArray(disks) ? disks.length : 0;
}

/** A disk whose entry cannot be read counts as not erased. */
function unknownDisks(lost: number): DiskErasure {
  return {
    ...diskOf({ name: 'others', method: 'none' }, 0),
    result: 'partial',
    not_done: `nothing is known of ${lost} further ${lost === 1 ? 'disk' : 'disks'}: what the node reports of them can't be read`,
  };
}

type ReadDisk = NonNullable<ReturnType<typeof disk>>;

function diskOf(read: ReadDisk, index: number): DiskErasure {
  const method = read.method ?? 'none';
  const { result, why } = claim(method, read.result);
  return {
    name: read.name ?? `disk ${index + 1}`,
    model: read.model ?? '',
    serial: read.serial ?? '',
    size_bytes: read.size_bytes ?? null,
    method,
    result,
    verified: read.verified ?? '',
    not_done: [read.not_done ?? '', why].filter((part) => part !== '').join('; '),
    seconds: read.seconds ?? null,
  };
}

/** Limits the result of a disk: a method that leaves most of it as it was does not erase it. */
function claim(
  method: EraseMethod,
  reported: EraseResult | undefined,
): { readonly result: EraseResult; readonly why: string } {
  if (reported === 'failed') return { result: 'failed', why: '' };
  if (method === 'none') return { result: 'failed', why: 'the node names no method that is known' };
  if (reported === undefined) return { result: 'partial', why: 'the node names no result that is known' };
  return { result: method === 'overwrite-partial' ? 'partial' : reported, why: '' };
}

function skippedOf(read: NonNullable<ReturnType<typeof skippedDisk>>, index: number): SkippedDisk {
  return { name: read.name ?? `disk ${index + 1}`, reason: read.reason ?? 'no reason was given' };
}
