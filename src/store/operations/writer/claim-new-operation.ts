/** A new operation that the replica which starts it claims in the same transaction (src/engine/start-at-once.ts). */
import type { Actor } from '../../../domain/actor.ts';
import type { NewEvent } from '../../../domain/event.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../../domain/machine/machine-change.ts';
import type { Operation } from '../../../domain/operation/operation.ts';
import { isActive } from '../../../domain/operation/operation-status.ts';
import type { Job } from '../../../engine/job.ts';
import type { ClaimsAtStart, StartClaim } from '../../../engine/start-at-once.ts';
import type { DatabaseTime } from '../../clock/database-clock.ts';
import { moveEvents } from './move-events.ts';

/** Lets a starter claim what it creates. */
export interface StarterClaims {
  readonly claims: ClaimsAtStart<MachineChange>;
  readonly clock: DatabaseTime;
}

/** The operation as it is inserted, its machine after it, and the events of both. */
export interface ClaimedStart {
  readonly job: Job;
  readonly machine: Machine;
  readonly events: readonly NewEvent[];
  /** Null: it has ended. */
  readonly owner: string | null;
}

/** The machine is locked. Null: this replica does not take the operation, which stays pending and due. */
export function claimNewOperation(
  operation: Operation,
  machine: Machine,
  { claims, clock }: StarterClaims,
  claim: StartClaim<MachineChange>,
): ClaimedStart | null {
  const now = clock.now();
  const move = claim.claim(newJob(operation, clock.steppedMs), now);
  if (move === null) return null;
  const actor: Actor = { kind: 'system', id: claims.owner };
  const { job } = move;
  const applied = applyChange(machine, move.change ?? {}, { at: now, actor, operationId: job.id });
  const active = isActive(job.status);
  return {
    job,
    machine: active
      ? applied.machine
      : { ...applied.machine, activeOperationId: null, activeOperationType: null },
    events: [...moveEvents(move, actor), ...applied.events],
    owner: active ? claims.owner : null,
  };
}

/** As a claim would return it: the first holder has the epoch 1. */
function newJob(operation: Operation, steppedMs: number): Job {
  return {
    id: operation.operationId,
    subject: operation.machineId,
    type: operation.type,
    completionPolicy: operation.completionPolicy,
    params: operation.params,
    status: operation.status,
    steps: operation.steps,
    current: operation.current,
    error: null,
    waitingFor: '',
    cancel: null,
    epoch: 1,
    signals: 0,
    deaths: 0,
    startedAt: null,
    finishedAt: null,
    logBytes: 0,
    adopting: '',
    restarting: false,
    clockMs: steppedMs,
  };
}
