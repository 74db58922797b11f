/**
 * What an operation does to its machine, as a value. It is applied to the row that is locked at that moment, in
 * the same transaction as the step or the ending that caused it, and yields one event for each thing that really
 * changed.
 */
import type { Actor } from './actor.ts';
import { applyCondition, type ConditionChange } from './condition.ts';
import type { NewEvent } from './event.ts';
import { checkTransition } from './lifecycle.ts';
import type { Machine } from './machine.ts';
import { type Phase, phaseLifecycle } from './phase.ts';

export interface MachineChange {
  /** Where the phase goes; being there already is fine. */
  readonly phase?: Phase;
  readonly conditions?: readonly ConditionChange[];
}

export interface ChangeCause {
  readonly at: Date;
  readonly actor: Actor;
  readonly operationId: string | null;
}

export interface ChangedMachine {
  readonly machine: Machine;
  readonly events: readonly NewEvent[];
}

/** The later change wins where both speak of the same condition. */
export function mergeChanges(first: MachineChange, second: MachineChange): MachineChange {
  const conditions = [...(first.conditions ?? []), ...(second.conditions ?? [])];
  const phase = second.phase ?? first.phase;
  return { conditions, ...(phase ? { phase } : {}) };
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
  if (change.phase && change.phase !== machine.phase) {
    checkTransition(phaseLifecycle, machine.phase, change.phase, 'operation');
    events.push({
      ...base,
      kind: 'phase',
      subject: machine.machineId,
      from: machine.phase,
      to: change.phase,
      comment: '',
      metadata: {},
    });
    next = { ...next, phase: change.phase };
  }
  for (const condition of change.conditions ?? []) {
    const before = next.conditions[condition.type];
    // A signal that was never raised need not be lowered.
    if (before === undefined && !condition.status && isSignal(condition.type)) continue;
    if (condition.ifReason && !condition.ifReason.includes(before?.reason ?? '')) continue;
    if (before?.status && condition.unlessReason?.includes(before.reason)) continue;
    next = { ...next, conditions: applyCondition(next.conditions, condition, cause.at.toISOString()) };
    if (before?.status === condition.status) continue;
    events.push({
      ...base,
      kind: 'condition',
      subject: condition.type,
      from: before === undefined ? '' : String(before.status),
      to: String(condition.status),
      comment: condition.message,
      metadata: { reason: condition.reason },
    });
  }
  return { machine: next, events };
}

function isSignal(type: ConditionChange['type']): boolean {
  return type === 'NeedsIntervention' || type === 'OperationCanceled';
}
