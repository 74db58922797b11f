import { setTimeout as sleep } from 'node:timers/promises';

/** Short at first, for what takes milliseconds; each reading of what takes longer costs the server a call. */
const PHASES = [
  { untilMs: 100, intervalMs: 5 },
  { untilMs: 1_000, intervalMs: 25 },
];
const LATER_INTERVAL_MS = 100;

/** Reads again and again until the value is the wanted one, and returns it; without `holds`, until it is truthy. */
export async function until<Value>(
  read: () => Value | Promise<Value>,
  holds: (value: Value) => unknown = Boolean,
  limitMs = 45_000,
): Promise<Value> {
  const startedAt = performance.now();
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs > limitMs) throw new Error(notInTime(limitMs, [read, holds], value));
    await sleep(PHASES.find(({ untilMs }) => elapsedMs < untilMs)?.intervalMs ?? LATER_INTERVAL_MS);
  }
}

function notInTime(limitMs: number, code: readonly unknown[], value: unknown): string {
  const shown = JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? String(part) : part));
  return `not within ${limitMs} ms: ${code.map(String).join(' ')}; last value: ${shown}`;
}
