/** Answers as the caller may see them: how a connection failed is for operators (`domain/error/connection-words.ts`). */
import { type Caller, mayCall } from '../domain/access/caller.ts';
import { withoutDetails } from '../domain/error/connection-words.ts';

/** Those who may change machines may see why one is not reachable. */
const CHANGES_MACHINES = 'baremetal.v2.MachineService/UpdateMachine';

/** The answer itself where nothing has to change. */
export function asSeenBy<T>(caller: Caller | null, answer: T): T {
  return caller === null || seesDetails(caller) ? answer : withoutDetailsIn(answer);
}

export function seesDetails(caller: Caller): boolean {
  return mayCall(caller, CHANGES_MACHINES, 'operator');
}

export function withoutDetailsIn<T>(answer: T): T {
  return plain(answer) as T;
}

/** Copies only what changes: answers may be shared with other callers. */
function plain(value: unknown): unknown {
  if (typeof value === 'string') return withoutDetails(value);
  if (Array.isArray(value)) return plainItems(value);
  if (value instanceof Uint8Array) return plainBytes(value);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  let copy: Record<string, unknown> | null = null;
  for (const [key, before] of Object.entries(value)) {
    const after = plain(before);
    if (after === before) continue;
    copy ??= Object.assign(Object.create(Object.getPrototypeOf(value)) as Record<string, unknown>, value);
    copy[key] = after;
  }
  return copy ?? value;
}

/** Lines of logs. */
function plainBytes(bytes: Uint8Array): Uint8Array {
  const before = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const after = withoutDetails(before);
  return after === before ? bytes : Buffer.from(after, 'utf8');
}

function plainItems(items: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | null = null;
  items.forEach((before, place) => {
    const after = plain(before);
    if (after === before) return;
    copy ??= [...items];
    copy[place] = after;
  });
  return copy ?? items;
}
