/** What can be done to many machines at once, which of them take it, and why the others do not. */
import { type GatedMachine, whyNot } from '../../../../src/domain/operation/gate.ts';
import { OPERATOR_ACTIONS } from '../../../../src/domain/operation/operator-action.ts';
import { PHASE_GATED_TYPES, type PhaseGatedType } from '../../../../src/domain/operation/phase-gated-type.ts';

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

/** What the operation of a machine that is asked about is called, where all of a group are spoken of. */
const SOME_OPERATION = '…';

/** Empty when it takes the action; in words that are the same for all machines in the same state. */
function whyNotInBulk(name: BulkActionName, machine: GatedMachine | null): string {
  if (machine === null) return 'It is not in the inventory any more.';
  const { activeOperationId } = machine;
  if (name === 'CANCEL') return activeOperationId === null ? 'It has no operation under way.' : '';
  const reason = whyNot(name, {
    ...machine,
    machineId: 'it',
    activeOperationId: activeOperationId === null ? null : SOME_OPERATION,
  });
  return reason === null ? '' : `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`;
}

/** A machine of the selection, as it was when the dialog looked. */
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
