/** The indicator of a machine, which is on so that people find it. The server switches it off when its time is over. */
import { invalidField } from '../error/fault.ts';
import { readDuration } from '../rollout/spec/duration-text.ts';

export interface Locating {
  readonly since: string;
  readonly until: string;
  /** As "role:name". */
  readonly by: string;
  /** When the server has to act next: at its end, or later where the BMC could not be asked. */
  readonly dueAt: string;
  /** How often switching it off has failed, and why the last time. */
  readonly failures: number;
  readonly problem: string;
}

const DEFAULT_MS = 10 * 60_000;
const MAX_MS = 24 * 3_600_000;
const FIRST_RETRY_MS = 5_000;
const LAST_RETRY_MS = 10 * 60_000;

/** As given by a caller; empty: the default. Throws a fault that names the field. */
export function locatingMs(text: string): number {
  if (text.trim() === '') return DEFAULT_MS;
  const ms = readDuration(text, 'duration');
  if (ms < 1_000 || ms > MAX_MS) throw invalidField('duration', 'must be a time from 1s to 24h, such as 10m');
  return ms;
}

export function locatingFor(
  before: Locating | null,
  { at, ms, by }: { at: Date; ms: number; by: string },
): Locating {
  const until = new Date(at.getTime() + ms).toISOString();
  return { since: before?.since ?? at.toISOString(), until, by, dueAt: until, failures: 0, problem: '' };
}

/** It could not be switched off: the next try comes later each time. */
export function afterFailure(locating: Locating, at: Date, problem: string): Locating {
  const failures = locating.failures + 1;
  const waitMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20));
  return { ...locating, failures, problem, dueAt: new Date(at.getTime() + waitMs).toISOString() };
}
