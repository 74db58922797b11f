/**
 * Counts the fields of an encoded message before it is decoded: a decoder spends microseconds on each, and a message of
 * 4 MiB can have two million of them. Bytes that are no message are left for the decoder to refuse.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';

export interface FieldLimits {
  readonly fields: number;
  readonly depth: number;
}

const WIRE = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** Why a message is refused; null: it is small enough, or not a message. */
export function tooManyFields(desc: DescMessage, bytes: Uint8Array, limits: FieldLimits): string | null {
  const scan: Scan = { bytes, limits, at: 0, fields: 0, problem: null };
  scanMessage(scan, contentsOf(desc), { start: 0, end: bytes.length, depth: 1 });
  return scan.problem;
}

interface Scan {
  readonly bytes: Uint8Array;
  readonly limits: FieldLimits;
  /** What is read next. */
  at: number;
  fields: number;
  problem: string | null;
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly depth: number;
}

function scanMessage(scan: Scan, contents: Contents, { start, end, depth }: Range): void {
  if (depth > scan.limits.depth) {
    scan.problem = `it is nested more than ${scan.limits.depth} levels deep`;
    return;
  }
  scan.at = start;
  let groups = 0;
  while (scan.at < end && scan.problem === null) {
    const tag = nextVarint(scan, end);
    if (!countField(scan)) return;
    switch (tag & 7) {
      case WIRE.varint:
        nextVarint(scan, end);
        break;
      case WIRE.fixed64:
        scan.at += 8;
        break;
      case WIRE.fixed32:
        scan.at += 4;
        break;
      case WIRE.bytes: {
        const length = nextVarint(scan, end);
        const content = contents.get(tag >>> 3);
        const after = scan.at + length;
        if (content !== undefined)
          scanBytes(scan, content, { start: scan.at, end: Math.min(after, end), depth: depth + 1 });
        scan.at = after;
        break;
      }
      case WIRE.startGroup:
        groups += 1;
        if (groups + depth > scan.limits.depth)
          scan.problem = `it is nested more than ${scan.limits.depth} levels deep`;
        break;
      case WIRE.endGroup:
        groups -= 1;
        break;
      default:
        return;
    }
  }
}

function countField(scan: Scan): boolean {
  scan.fields += 1;
  if (scan.fields > scan.limits.fields) scan.problem = `it has more than ${scan.limits.fields} fields`;
  return scan.problem === null;
}

/** What the bytes of a field hold: a message, numbers side by side, or one value. */
type Content = { readonly message: Contents } | 'packed';
type Contents = ReadonlyMap<number, Content>;

const VALUE_OF_ENTRY = 2;
const contentsOfMessages = new WeakMap<DescMessage, Map<number, Content>>();

function contentsOf(desc: DescMessage): Contents {
  const known = contentsOfMessages.get(desc);
  if (known) return known;
  const contents = new Map<number, Content>();
  // Before its fields are read, because a message may hold itself.
  contentsOfMessages.set(desc, contents);
  for (const field of desc.fields) {
    const content = contentOf(field);
    if (content) contents.set(field.number, content);
  }
  return contents;
}

function contentOf(field: DescField): Content | null {
  if (field.fieldKind === 'map') {
    const value = field.message ? { message: contentsOf(field.message) } : null;
    return { message: new Map(value ? [[VALUE_OF_ENTRY, value]] : []) };
  }
  if (field.message) return { message: contentsOf(field.message) };
  const isNumbers = field.fieldKind === 'list' && field.packed;
  return isNumbers ? 'packed' : null;
}

/** Texts and bytes are one field; packed numbers are one for each byte at most. */
function scanBytes(scan: Scan, content: Content, range: Range): void {
  if (content !== 'packed') {
    scanMessage(scan, content.message, range);
    return;
  }
  scan.fields += Math.max(0, range.end - range.start - 1);
  if (scan.fields > scan.limits.fields) scan.problem = `it has more than ${scan.limits.fields} fields`;
}

/** Without an object for each: there may be a hundred thousand. */
function nextVarint(scan: Scan, end: number): number {
  const { bytes } = scan;
  const first = bytes[scan.at] ?? 0;
  if (scan.at < end && first < 0x80) {
    scan.at += 1;
    return first;
  }
  const { value, next } = readVarint(bytes, scan.at, end);
  scan.at = next;
  return value;
}

/** Values beyond 32 bits lose their upper part, which no length or tag needs. */
export function readVarint(bytes: Uint8Array, from: number, end: number): { value: number; next: number } {
  let value = 0;
  let at = from;
  for (let shift = 0; at < end; shift += 7) {
    const byte = bytes[at] ?? 0;
    at += 1;
    if (shift < 32) value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return { value: value >>> 0, next: at };
}
