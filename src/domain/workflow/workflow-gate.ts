/**
 * In which service states each workflow may start, what its start does to the machine, and what to do first where it can't
 * start (docs/maas.md). The server and the console both use this table.
 */

import type { MachineChange } from '../machine/machine-change.ts';
import { type ServiceOwner, type ServiceState, serviceLifecycle } from '../machine/service-state.ts';
import { blockedBecause, busyBecause, type GatedMachine } from '../operation/gate.ts';
import type { WorkflowType } from '../operation/operation-type.ts';
import type { DecommissionMode } from './stage.ts';

/** A workflow; a decommission by its mode. */
export type WorkflowKind = Exclude<WorkflowType, 'DECOMMISSION'> | DecommissionMode;

/** `none`: a machine without a service state. */
type Place = ServiceState | 'none';

/** What the start does, or what to do first. */
type Starts = Readonly<Record<Place, MachineChange | string>>;

const NOTHING: MachineChange = {};
const ENROLS: MachineChange = { service: { to: 'enrolling', owner: 'admin' } };
/** The identity is used again: offline, until its health proves that it is active. */
const REUSES: MachineChange = { service: { to: 'offline', owner: 'admin', comment: 'onboarded again' } };
const DISABLES: MachineChange = { service: { to: 'draining', owner: 'admin' } };
const REMOVES: MachineChange = { service: { to: 'removing', owner: 'removal' } };

const GONE = 'It was removed for good.';
const LEAVING = 'It is being removed. Wait for that, or cancel the removal first.';
const NEVER_IN = 'It was never in service.';
const NOT_YET = 'It is not in service yet. Onboard it first.';
const IN_ALREADY = 'It is in service already. Decommission it first.';
const RETIRED = 'It is retired already.';
const DRAIN_FIRST = 'Drain it first.';
const DRAINING = 'It is draining. Wait until it is retired.';

const TAKES_OUT: Starts = {
  none: NEVER_IN,
  bootstrap_issued: NOT_YET,
  enrolling: NOT_YET,
  active: DISABLES,
  offline: DISABLES,
  quarantined: DISABLES,
  draining: NOTHING,
  retired: RETIRED,
  removing: LEAVING,
  deleted: GONE,
};

const STARTS = {
  ONBOARD: {
    none: ENROLS,
    bootstrap_issued: ENROLS,
    enrolling: NOTHING,
    active: IN_ALREADY,
    offline: NOTHING,
    // Its upstream deleted or changed it: it stays quarantined until it is healthy again.
    quarantined: NOTHING,
    draining: DRAINING,
    retired: REUSES,
    removing: LEAVING,
    deleted: GONE,
  },
  soft_reset: TAKES_OUT,
  storage_cleanup: TAKES_OUT,
  reimage: TAKES_OUT,
  full_decommission: { ...TAKES_OUT, retired: NOTHING },
  DRAIN: TAKES_OUT,
  REMOVE: {
    none: NEVER_IN,
    bootstrap_issued: NOT_YET,
    enrolling: NOT_YET,
    active: DRAIN_FIRST,
    offline: DRAIN_FIRST,
    quarantined: DRAIN_FIRST,
    draining: DRAINING,
    retired: REMOVES,
    removing: NOTHING,
    deleted: GONE,
  },
} as const satisfies Record<WorkflowKind, Starts>;

const NAMES = {
  ONBOARD: 'An onboarding',
  soft_reset: 'A decommission',
  storage_cleanup: 'A decommission',
  reimage: 'A decommission',
  full_decommission: 'A full decommission',
  DRAIN: 'A drain',
  REMOVE: 'A removal',
} as const satisfies Record<WorkflowKind, string>;

/** The service states that the workflow may start in, and what the start does. */
export function workflowStarts(kind: WorkflowKind): Partial<Record<Place, MachineChange>> {
  const starts: Starts = STARTS[kind];
  return Object.fromEntries(Object.entries(starts).filter(([, change]) => typeof change !== 'string'));
}

/** Null when the workflow may start. */
export function whyNotWorkflow(kind: WorkflowKind, machine: GatedMachine): string | null {
  const { machineId, service } = machine;
  const blocked = kind === 'ONBOARD' ? blockedBecause(machine) : null;
  if (blocked) return blocked;
  const starts: Starts = STARTS[kind];
  const change = starts[service ?? 'none'];
  if (typeof change === 'string') {
    const states = Object.keys(workflowStarts(kind)).filter((state) => state !== 'none');
    const has = service === null ? 'has none' : `is ${service}`;
    return `${NAMES[kind]} needs service state ${orList(states)}, and ${machineId} ${has}. ${change}`;
  }
  return busyBecause(machine);
}

function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

/** The owners of transitions that are people. */
const PEOPLE: readonly ServiceOwner[] = ['operator', 'admin'];

/** An operation owns these states: they can't be set by hand. */
export const OWNED_BY_OPERATIONS: readonly ServiceState[] = ['enrolling', 'draining', 'removing'];

export interface ByHand {
  readonly to: ServiceState;
  readonly when: string;
  readonly owner: ServiceOwner;
}

/** The service states that a person may set from this one, each with its condition and owner. */
export function serviceStatesByHand(service: ServiceState | null): ByHand[] {
  return serviceLifecycle.transitions
    .filter(({ from, to }) => from === service && !OWNED_BY_OPERATIONS.includes(to))
    .flatMap(({ to, when, owners }) => {
      const owner = PEOPLE.find((person) => (owners as readonly ServiceOwner[]).includes(person));
      return owner ? [{ to, when, owner }] : [];
    });
}

/** Null when there is a service state that a person may set. */
export function whyNotSetService(machine: GatedMachine): string | null {
  const { machineId, service } = machine;
  if (serviceStatesByHand(service).length === 0)
    return service === null
      ? `${machineId} has no service state yet. Onboard it first.`
      : `${machineId} is ${service}, which can't be changed by hand: its agent and its workflows do that.`;
  return busyBecause(machine);
}
