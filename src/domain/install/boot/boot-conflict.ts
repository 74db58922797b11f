/** Two machines that boot as the same node: an operator must find out which of them it is. */
import type { ConditionChange, Conditions } from '../../condition/condition.ts';

export const BOOT_CONFLICT = 'BootConflict';

export function isBootConflict({ NeedsIntervention: attention }: Conditions): boolean {
  return attention?.status === true && attention.reason === BOOT_CONFLICT;
}

/** An installation that failed stays the reason: its disk may be half written. */
export function bootConflict(message: string): ConditionChange {
  return {
    type: 'NeedsIntervention',
    status: true,
    reason: BOOT_CONFLICT,
    message,
    unlessReason: ['ReimageFailed'],
  };
}

/** A person who approves the node again has judged the conflict. */
export function conflictJudged(message: string): ConditionChange {
  return {
    type: 'NeedsIntervention',
    status: false,
    reason: 'Approved',
    message,
    ifReason: [BOOT_CONFLICT],
  };
}
