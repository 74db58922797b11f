/** Bulk actions on machines: which machines are eligible, and why the others are not. */
import { type GatedMachine, whyNot } from '../../../../src/domain/operation/gate.ts';
import { OPERATOR_ACTIONS } from '../../../../src/domain/operation/operator-action.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../../../src/domain/operation/phase-gated-type.ts';
import { capitalize } from '../../capitalize.ts';

export type BulkActionName = PhaseGatedType | 'CANCEL';

export interface BulkAction {
  readonly title: string;
  readonly effect: string;
  /** Destroys data: the number of machines must be typed. */
  readonly confirm: 'once' | 'typed';
}

const TITLES = {
  ENTER_MAINTENANCE: 'Enter maintenance',
  EXIT_MAINTENANCE: 'Exit maintenance',
  REBOOT: 'Reboot',
  REIMAGE: 'Reimage',
  CANCEL: 'Cancel operation',
} as const satisfies Record<BulkActionName, string>;

export const BULK_ACTION_NAMES = Object.keys(TITLES) as BulkActionName[];

export function bulkAction(name: BulkActionName): BulkAction {
  if (name === 'CANCEL')
    return { title: TITLES[name], effect: OPERATOR_ACTIONS.cancel.effect, confirm: 'once' };
  const { description, destructive } = PHASE_GATED_TYPES[name];
  return { title: TITLES[name], effect: description, confirm: destructive ? 'typed' : 'once' };
}

/** Stands for the operation id, so that machines with the same reason have the same text and can be grouped. */
const SOME_OPERATION = '…';

/** Why the machine is not eligible, in the same words for all machines in the same state; empty if it is. */
function whyNotInBulk(name: BulkActionName, machine: GatedMachine | null): string {
  if (machine === null) return 'It is no longer in the inventory.';
  const { activeOperationId } = machine;
  if (name === 'CANCEL') return activeOperationId === null ? 'It has no active operation.' : '';
  const reason = whyNot(name, {
    ...machine,
    machineId: 'it',
    activeOperationId: activeOperationId === null ? null : SOME_OPERATION,
  });
  return reason === null ? '' : capitalize(reason);
}

/** A selected machine, as it was when the dialog checked it. */
export interface Candidate {
  readonly machineId: string;
  /** Empty when it is eligible. */
  readonly reason: string;
  readonly activeOperationId: string;
}

export function candidateFor(
  name: BulkActionName,
  machineId: string,
  machine: GatedMachine | null,
): Candidate {
  const reason = whyNotInBulk(name, machine);
  return { machineId, reason, activeOperationId: machine?.activeOperationId ?? '' };
}

export interface ReasonGroup {
  readonly reason: string;
  readonly machineIds: readonly string[];
}

/** The largest group first. */
export function reasonGroups(candidates: readonly Candidate[]): ReasonGroup[] {
  const groups = new Map<string, string[]>();
  for (const { machineId, reason } of candidates) {
    if (reason === '') continue;
    const members = groups.get(reason);
    if (members) members.push(machineId);
    else groups.set(reason, [machineId]);
  }
  return [...groups]
    .map(([reason, machineIds]) => ({ reason, machineIds }))
    .toSorted((left, right) => right.machineIds.length - left.machineIds.length);
}
