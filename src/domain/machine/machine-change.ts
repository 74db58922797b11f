/**
 * What is done to a machine, as a value: by an operation, an agent, a clock. It is applied to the row that is
 * locked at that moment, in the same transaction as whatever caused it, and yields one event for each thing that
 * really changed.
 */
import type { Actor } from '../actor.ts';
import { type Presence, type PresenceOwner, presenceLifecycle } from '../agent/presence.ts';
import {
  applyCondition,
  type Condition,
  type ConditionChange,
  type Conditions,
} from '../condition/condition.ts';
import { drainedDenied } from '../condition/node-observation.ts';
import type { NewEvent } from '../event.ts';
import { type InstallOwner, type InstallState, installLifecycle } from '../install/install-state.ts';
import { checkTransition, type Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Machine, ObservedState } from './machine.ts';
import { type Phase, phaseLifecycle } from './phase.ts';
import { type ServiceOwner, type ServiceState, serviceLifecycle } from './service-state.ts';

/** Where a layer goes, and who sends it there. */
export interface LayerChange<S extends string, O extends string> {
  readonly to: S;
  readonly owner: O;
  /** Only from one of these; from anywhere else it stays where it is. */
  readonly from?: readonly S[];
  /** Where it comes from none of those. */
  readonly otherwise?: LayerChange<S, O>;
  /** On from there in the same moment, as a transition of its own. */
  readonly andThen?: LayerChange<S, O>;
  readonly comment?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Only from one of these; from anywhere else what the operator intends stays as it is. */
export interface PhaseChange {
  readonly to: Phase;
  readonly from: readonly Phase[];
}

/** Being there already is fine. */
export interface MachineChange {
  readonly phase?: Phase | PhaseChange;
  readonly service?: LayerChange<ServiceState, ServiceOwner>;
  readonly install?: LayerChange<InstallState, InstallOwner>;
  readonly presence?: LayerChange<Presence, PresenceOwner>;
  readonly conditions?: readonly ConditionChange[];
  /** What an upstream said just now. */
  readonly observed?: ObservedState;
}

const LAYERS = {
  service: serviceLifecycle,
  install: installLifecycle,
  presence: presenceLifecycle,
} as const satisfies Record<string, Lifecycle<string, string>>;

type LayerName = keyof typeof LAYERS;

export interface ChangeCause {
  readonly at: Date;
  readonly actor: Actor;
  readonly operationId: string | null;
}

export interface ChangedMachine {
  readonly machine: Machine;
  readonly events: readonly NewEvent[];
}

/**
 * The later change wins where both speak of the same layer or condition; unless it would only come from a state that
 * the first one leaves behind.
 */
export function mergeChanges(first: MachineChange, second: MachineChange): MachineChange {
  const conditions = [...(first.conditions ?? []), ...(second.conditions ?? [])];
  const merged: MachineChange = { ...first, ...second, conditions };
  const kept = (Object.keys(LAYERS) as LayerName[]).filter((name) => {
    const to = first[name]?.to;
    return to !== undefined && second[name] !== undefined && !fitting(second[name], to);
  });
  return { ...merged, ...Object.fromEntries(kept.map((name) => [name, first[name]])) };
}

export function applyChange(machine: Machine, change: MachineChange, cause: ChangeCause): ChangedMachine {
  const events: NewEvent[] = [];
  const base = {
    actor: cause.actor,
    machineId: machine.machineId,
    operationId: cause.operationId,
    snapshot: null,
  };
  let next = machine;
  const phase = phaseAfter(machine.phase, change.phase);
  if (phase !== machine.phase) {
    checkTransition(phaseLifecycle, machine.phase, phase, 'operation');
    events.push({
      ...base,
      kind: 'phase',
      subject: machine.machineId,
      from: machine.phase,
      to: phase,
      comment: '',
      metadata: {},
    });
    next = { ...next, phase };
  }
  for (const name of Object.keys(LAYERS) as LayerName[]) {
    for (let layer = change[name] as AnyLayerChange; layer; ) {
      const before = next[name];
      const fits = fitting(layer, before);
      if (fits === null || fits.to === before) break;
      checkLayer(name, before, fits);
      events.push({
        ...base,
        kind: name,
        subject: machine.machineId,
        from: before ?? '',
        to: fits.to,
        comment: fits.comment ?? '',
        metadata: fits.metadata ?? {},
      });
      next = { ...next, [name]: fits.to };
      layer = fits.andThen;
    }
  }
  if (change.observed) {
    const from = machine.observed?.state ?? '';
    const { state: to, source, power } = change.observed;
    next = { ...next, observed: change.observed };
    if (from !== to) {
      const metadata = { source, power };
      events.push({ ...base, kind: 'observed', subject: machine.machineId, from, to, comment: '', metadata });
    }
  }
  const conditions = applyConditions(next.conditions, change.conditions ?? [], cause.at);
  for (const { change: condition, from } of conditions.turned) {
    events.push({
      ...base,
      kind: 'condition',
      subject: condition.type,
      from,
      to: String(condition.status),
      comment: condition.message,
      metadata: { reason: condition.reason },
    });
  }
  if (conditions.after !== next.conditions) next = { ...next, conditions: conditions.after };
  return { machine: next, events };
}

interface AppliedConditions {
  readonly after: Conditions;
  /** Those whose status is another one now, and what it was: 'true', 'false', or empty where it was not known. */
  readonly turned: readonly { readonly change: ConditionChange; readonly from: string }[];
}

/** One after the other; at last Drained, where what is known now excludes it. */
function applyConditions(
  before: Conditions,
  changes: readonly ConditionChange[],
  at: Date,
): AppliedConditions {
  const turned: { change: ConditionChange; from: string }[] = [];
  let after = before;
  const apply = (change: ConditionChange) => {
    const condition = after[change.type];
    after = applyCondition(after, change, at.toISOString());
    if (condition?.status === change.status) return;
    turned.push({ change, from: condition === undefined ? '' : String(condition.status) });
  };
  for (const change of changes) if (counts(change, after[change.type])) apply(change);
  const denied = drainedDenied(after);
  if (denied) apply(denied);
  return { after, turned };
}

function counts({ type, status, ifReason, unlessReason }: ConditionChange, before?: Condition): boolean {
  // A signal that was never raised need not be lowered.
  if (before === undefined && !status && isSignal(type)) return false;
  if (ifReason && !ifReason.includes(before?.reason ?? '')) return false;
  return !(before?.status && unlessReason?.includes(before.reason));
}

function phaseAfter(before: Phase, change: MachineChange['phase']): Phase {
  if (change === undefined) return before;
  if (typeof change === 'string') return change;
  return change.from.includes(before) ? change.to : before;
}

type AnyLayerChange = LayerChange<string, string> | undefined;

/** The change, or one of those that it names for other cases, that begins in the state; null: none does. */
function fitting(layer: AnyLayerChange, state: string | null): LayerChange<string, string> | null {
  if (layer === undefined) return null;
  if (layer.from === undefined || (state !== null && layer.from.includes(state))) return layer;
  return fitting(layer.otherwise, state);
}

/** A machine that has not needed the layer before enters it in its first state, and goes on from there. */
function checkLayer(name: LayerName, before: string | null, layer: LayerChange<string, string>): void {
  const lifecycle: Lifecycle<string, string> = LAYERS[name];
  if (before === null && layer.to === lifecycle.initial) return;
  checkTransition(lifecycle, before ?? lifecycle.initial, layer.to, layer.owner);
}

function isSignal(type: ConditionChange['type']): boolean {
  return type === 'NeedsIntervention' || type === 'OperationCanceled';
}
