/**
 * Many machines that disappear from an upstream at once mean a problem of the upstream, not of the machines: its API key lost
 * permissions, or it was restored from an old backup. Machines that are really deleted disappear one by one.
 */

import type { Machine } from '../machine/machine.ts';
import { EXPECTED } from './drift.ts';

export interface Absences {
  /** Machines in use that the upstream no longer lists. */
  readonly missing: number;
  /** All machines in use, the missing ones included. */
  readonly inUse: number;
}

/** So many may disappear in one sweep, however small the fleet is. */
const FEW = 2;
const LARGE_PART = 0.1;

/** Up to two machines, or a tenth, may disappear; but never all, where there are several. */
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
