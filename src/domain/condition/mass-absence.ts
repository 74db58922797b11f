/**
 * When machines that an upstream lists no more say something about the upstream, not about themselves: its key has lost
 * rights, or it was restored from an old backup. Machines that are deleted go one by one.
 */

import type { Machine } from '../machine/machine.ts';
import { EXPECTED } from './drift.ts';

export interface Absences {
  /** Machines in use that are not listed any more. */
  readonly missing: number;
  /** All that are in use, those with them. */
  readonly inUse: number;
}

/** So many may be gone in one sweep, however small the fleet is. */
const FEW = 2;
const LARGE_PART = 0.1;

/** Up to two machines, or a tenth, are gone by themselves; but not all of several. */
export function massAbsence({ missing, inUse }: Absences): boolean {
  if (missing < 2) return false;
  return missing === inUse || missing > Math.max(FEW, inUse * LARGE_PART);
}

/**
 * Machines that would be quarantined for being absent. One that is enrolling is not: nothing runs on it, and a canceled
 * onboarding takes its own record away.
 */
export function isInUse({
  service,
  activeOperationId,
  observed,
}: Pick<Machine, 'service' | 'activeOperationId' | 'observed'>): boolean {
  if (service === null || activeOperationId !== null || observed?.state === 'absent') return false;
  return EXPECTED[service].otherwise === 'quarantine';
}
