/**
 * How large a request may be. Most have a few hundred bytes; those that carry a machine with its labels, a plan or a list
 * of ids have more room. Bytes bound the memory of a call, fields and values the time that it takes to decode.
 */
import { type DescMessage, type DescMethod, fromBinary } from '@bufbuild/protobuf';
import { Fault } from '../../domain/error/fault.ts';
import { tooManyValues } from './json-values.ts';
import { tooManyFields } from './wire-fields.ts';

const KIB = 1024;
/** The largest body of any call, and the limit of the library that reads it. */
export const LARGEST_BODY_BYTES = 4 * KIB * KIB;
export const DEFAULT_BODY_BYTES = 64 * KIB;

/** The calls that carry a machine with its labels, or a plan; escapes in JSON take up to six times as much as their text. */
const LARGE_METHODS: ReadonlySet<string> = new Set([
  'RegisterMachine',
  'UpdateMachine',
  'CreateMachine',
  'CreatePlan',
]);
/** The calls that may name every machine of a fleet. An id is one field, which costs little to decode. */
const MANY_IDS_METHODS: ReadonlySet<string> = new Set([
  'PreviewRollout',
  'CreateRollout',
  'RetryFailed',
  'SkipMachines',
]);
/** Filters have their own limit, whose refusal names the place; a list of ids is short. */
const LIST_BYTES = 256 * KIB;
const LIST_FIELDS: ReadonlySet<string> = new Set(['filter', 'machine_ids']);

export const MESSAGE_LIMITS = { fields: 4_000, values: 4_000, depth: 32 } as const;
const MANY_IDS_LIMITS = { fields: 110_000, values: 110_000, depth: 32 } as const;

function limitsOf({ name }: DescMethod): typeof MESSAGE_LIMITS | typeof MANY_IDS_LIMITS {
  return MANY_IDS_METHODS.has(name) ? MANY_IDS_LIMITS : MESSAGE_LIMITS;
}

/** A message of this size is decoded in slices, whatever the call. */
const LONG_BYTES = 256 * KIB;

export function isDecodedInTurns({ name }: DescMethod, bytes: number): boolean {
  return bytes > LONG_BYTES || MANY_IDS_METHODS.has(name);
}

/** Such a call is decoded, checked and carried out in slices, so that none of them takes long. */
export function takesManyIds(methodName: string): boolean {
  return MANY_IDS_METHODS.has(methodName);
}

export function maxBytesOf({ name, input }: DescMethod): number {
  if (LARGE_METHODS.has(name) || MANY_IDS_METHODS.has(name)) return LARGEST_BODY_BYTES;
  return input.fields.some((field) => LIST_FIELDS.has(field.name)) ? LIST_BYTES : DEFAULT_BODY_BYTES;
}

export function requestTooLarge(maxBytes: number): Fault {
  return new Fault('REQUEST_TOO_LARGE', {
    message: `the request is too large: at most ${maxBytes} bytes are taken here`,
    metadata: { limit: String(maxBytes) },
  });
}

/** Throws when decoding it would take too long. */
export function checkBinary(method: DescMethod, bytes: Uint8Array): void {
  refuse(method.input, tooManyFields(method.input, bytes, limitsOf(method)));
}

export function checkJson(method: DescMethod, bytes: Uint8Array): void {
  refuse(method.input, tooManyValues(bytes, limitsOf(method)));
}

function refuse(desc: DescMessage, problem: string | null): void {
  if (problem === null) return;
  throw new Fault('REQUEST_TOO_COMPLEX', {
    message: `the request is not a ${desc.typeName} that is taken: ${problem}`,
  });
}

/** Decodes a message of a call, within its limits. */
export function decodeMessage(method: DescMethod, bytes: Uint8Array): unknown {
  const maxBytes = maxBytesOf(method);
  if (bytes.length > maxBytes) throw requestTooLarge(maxBytes);
  checkBinary(method, bytes);
  try {
    return fromBinary(method.input, bytes);
  } catch (error) {
    throw new Fault('MALFORMED_MESSAGE', {
      message: `the request is not a valid ${method.input.typeName}`,
      context: error,
    });
  }
}
