/**
 * A change of a machine as a value, made by an operation, an agent or a timer. It is applied to the locked row, in the
 * transaction of its cause, and yields one event for each layer, condition or observed state that really changed.
 */
import type { Actor } from '../actor.ts';
import { type Presence, type PresenceOwner, presenceLifecycle } from '../agent/presence.ts';
import {
  applyCondition,
  type Condition,
  type ConditionChange,
  type Conditions,
} from '../condition/condition.ts';
import { contradictedDrained } from '../condition/node-observation.ts';
import type { NewEvent } from '../event.ts';
import { type InstallOwner, type InstallState, installLifecycle } from '../install/install-state.ts';
import { checkTransition, type Lifecycle } from '../lifecycle/lifecycle.ts';
import type { Machine, ObservedState } from './machine.ts';
import { type MaintenanceOrder, maintenanceAfter } from './maintenance.ts';
import { type Phase, phaseLifecycle } from './phase.ts';
import { type ServiceOwner, type ServiceState, serviceLifecycle } from './service-state.ts';

/** The new state of a layer, and the owner of the transition. */
export interface LayerChange<S extends string, O extends string> {
  readonly to: S;
  readonly owner: O;
  /** Only from one of these states; from any other the layer stays as it is. */
  readonly from?: readonly S[];
  /** The change to make from any state that is not in `from`. */
  readonly otherwise?: LayerChange<S, O>;
  /** Another transition right after this one, with its own event. */
  readonly andThen?: LayerChange<S, O>;
  readonly comment?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** Only from one of these phases; any other stays as it is. */
export interface PhaseChange {
  readonly to: Phase;
  readonly from: readonly Phase[];
}

/** A layer that is in its new state already does not change. */
export interface MachineChange {
  readonly phase?: Phase | PhaseChange;
  readonly service?: LayerChange<ServiceState, ServiceOwner>;
  readonly install?: LayerChange<InstallState, InstallOwner>;
  readonly presence?: LayerChange<Presence, PresenceOwner>;
  readonly conditions?: readonly ConditionChange[];
  /** What an upstream reported just now. */
  readonly observed?: ObservedState;
  /** The maintenance that it enters, or is in already. */
  readonly maintenance?: MaintenanceOrder;
  /** An attempt to erase its disks that failed: no certificate says that they are erased, and the audit chain has why. */
  readonly eraseFailure?: { readonly key: string; readonly message: string };
}

const LAYERS = {
  service: serviceLifecycle,
  install: installLifecycle,
  presence: presenceLifecycle,
} as const satisfies Record<string, Lifecycle<string, string>>;

type LayerName = keyof typeof LAYERS;
const LAYER_NAMES = Object.keys(LAYERS) as LayerName[];

export interface ChangeCause {
  readonly at: Date;
  readonly actor: Actor;
  readonly operationId: string | null;
}

export interface ChangedMachine {
  readonly machine: Machine;
  readonly events: readonly NewEvent[];
}

/** Where both change the same layer or condition, the second wins, unless it does not apply to the state after the first. */
export function mergeChanges(first: MachineChange, second: MachineChange): MachineChange {
  const conditions = [...(first.conditions ?? []), ...(second.conditions ?? [])];
  const merged: MachineChange = Object.assign({}, first, second, { conditions });
  const kept = LAYER_NAMES.filter((name) => {
    const to = first[name]?.to;
    return to !== undefined && second[name] !== undefined && !applicable(second[name], to);
  });
  return kept.length === 0
    ? merged
    : { ...merged, ...Object.fromEntries(kept.map((name) => [name, first[name]])) };
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
      kind: 'phase',
      subject: machine.machineId,
      from: machine.phase,
      to: phase,
      comment: '',
      metadata: {},
      ...base,
    });
    next = { ...next, phase };
  }
  const maintenance = maintenanceAfter(machine, phase, change.maintenance, cause.at);
  if (maintenance !== machine.maintenance) next = { ...next, maintenance };
  for (const name of LAYER_NAMES) {
    for (let layer = change[name] as AnyLayerChange; layer; ) {
      const before = next[name];
      const applied = applicable(layer, before);
      if (applied === null || applied.to === before) break;
      checkLayer(name, before, applied);
      events.push({
        kind: name,
        subject: machine.machineId,
        from: before ?? '',
        to: applied.to,
        comment: applied.comment ?? '',
        metadata: applied.metadata ?? {},
        ...base,
      });
      next = { ...next, [name]: applied.to };
      layer = applied.andThen;
    }
  }
  if (change.observed) {
    const from = machine.observed?.state ?? '';
    const { state: to, source, power } = change.observed;
    next = { ...next, observed: change.observed };
    if (from !== to) {
      const metadata = { source, power };
      events.push({ kind: 'observed', subject: machine.machineId, from, to, comment: '', metadata, ...base });
    }
  }
  if (change.eraseFailure) {
    const { key, message: comment } = change.eraseFailure;
    const metadata = { attempt: key };
    events.push({
      kind: 'hardware',
      subject: 'erasure',
      from: '',
      to: 'failed',
      comment,
      metadata,
      ...base,
    });
  }
  const conditions = applyConditions(next.conditions, change.conditions ?? [], cause.at);
  for (const { change: condition, from } of conditions.changed) {
    events.push({
      kind: 'condition',
      subject: condition.type,
      from,
      to: String(condition.status),
      comment: condition.message,
      metadata: { reason: condition.reason },
      ...base,
    });
  }
  if (conditions.after !== next.conditions) next = { ...next, conditions: conditions.after };
  return { machine: next, events };
}

interface AppliedConditions {
  readonly after: Conditions;
  /** Those whose status changed, with the old one: 'true', 'false', or empty where it was not known. */
  readonly changed: readonly { readonly change: ConditionChange; readonly from: string }[];
}

/** In their order, and Drained at the end where the other conditions contradict it. */
function applyConditions(
  before: Conditions,
  changes: readonly ConditionChange[],
  at: Date,
): AppliedConditions {
  const changed: { change: ConditionChange; from: string }[] = [];
  let after = before;
  const apply = (change: ConditionChange) => {
    const condition = after[change.type];
    after = applyCondition(after, change, at.toISOString());
    if (condition?.status === change.status) return;
    changed.push({ change, from: condition === undefined ? '' : String(condition.status) });
  };
  for (const change of changes) if (applies(change, after[change.type])) apply(change);
  const contradicted = contradictedDrained(after);
  if (contradicted) apply(contradicted);
  return { after, changed };
}

function applies({ type, status, ifReason, unlessReason }: ConditionChange, before?: Condition): boolean {
  // A signal that was never set is not cleared.
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

/** The change, or one of its `otherwise`, that applies in this state; null: none does. */
function applicable(layer: AnyLayerChange, state: string | null): LayerChange<string, string> | null {
  if (layer === undefined) return null;
  if (layer.from === undefined || (state !== null && layer.from.includes(state))) return layer;
  return applicable(layer.otherwise, state);
}

/** A machine that had no state in the layer starts in its initial state. */
function checkLayer(name: LayerName, before: string | null, layer: LayerChange<string, string>): void {
  const lifecycle: Lifecycle<string, string> = LAYERS[name];
  if (before === null && layer.to === lifecycle.initial) return;
  checkTransition(lifecycle, before ?? lifecycle.initial, layer.to, layer.owner);
}

function isSignal(type: ConditionChange['type']): boolean {
  return type === 'NeedsIntervention' || type === 'OperationCanceled';
}
