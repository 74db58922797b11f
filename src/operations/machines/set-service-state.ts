/** Sets the service state of a machine by hand, outside of a workflow. */
import type { Scope } from '../../domain/access/scope.ts';
import { type Actor, actorLabel } from '../../domain/actor.ts';
import { inAnyCase } from '../../domain/any-case.ts';
import { upstreamDisagreement } from '../../domain/condition/drift.ts';
import { utcText } from '../../domain/condition/upstream-view.ts';
import { Fault } from '../../domain/error/fault.ts';
import { nextStates, statesOf } from '../../domain/lifecycle/lifecycle.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange, type MachineChange } from '../../domain/machine/machine-change.ts';
import { serviceLifecycle } from '../../domain/machine/service-state.ts';
import {
  type ByHand,
  OWNED_BY_OPERATIONS,
  serviceStatesByHand,
} from '../../domain/workflow/workflow-gate.ts';
import type { Database } from '../../store/database/database.ts';
import { changeMachine } from '../../store/machines/machines.ts';
import { activeFault } from '../../store/operations/operation-faults.ts';
import { machineNotFound } from './machine-not-found.ts';

export interface SetServiceCall {
  readonly machineId: string;
  readonly to: string;
  readonly reason: string;
  readonly actor: Actor;
  readonly scope: Scope | null;
  /** Set it even where the upstream disagrees. */
  readonly force: boolean;
}

export async function setServiceState(database: Database, call: SetServiceCall): Promise<Machine> {
  const { machineId, reason, actor } = call;
  const machine = await changeMachine(database, call, (before) => {
    const { to, owner } = checkService(before, inAnyCase(statesOf(serviceLifecycle), call.to) ?? call.to);
    if (before.activeOperationId !== null) throw activeFault(machineId, before.activeOperationId);
    const at = new Date();
    const disagreement = to === 'active' ? upstreamDisagreement(before, to) : null;
    if (disagreement !== null && !call.force) throw upstreamDisagrees(before, disagreement);
    const change = { service: { to, owner, comment: reason } } as const;
    const forced = disagreement === null ? change : forcing(before, { ...call, at, to, owner, disagreement });
    return applyChange(before, forced, { at, actor, operationId: null });
  });
  if (!machine) throw machineNotFound(machineId);
  return machine;
}

/** Accepts the upstream's present state: drift does not take the machine out again until that state changes. */
function forcing(
  { observed }: Machine,
  call: SetServiceCall & Pick<ByHand, 'to' | 'owner'> & { readonly at: Date; readonly disagreement: string },
): MachineChange {
  const { to, owner, reason, actor, at, disagreement } = call;
  const accepted = { by: actorLabel(actor), reason, at: at.toISOString() };
  const comment = `forced, although ${disagreement}: ${reason}`;
  const metadata = { forced: true, reason, source: observed?.source, upstream_state: observed?.state };
  return {
    service: { to, owner, comment, metadata },
    ...(observed && { observed: { ...observed, accepted } }),
  };
}

function upstreamDisagrees({ machineId, observed }: Machine, disagreement: string): Fault {
  const since = utcText(new Date(observed?.at ?? 0));
  return new Fault('UPSTREAM_DISAGREES', {
    message: `${disagreement} (since ${since}). Onboard it again, or correct it in ${observed?.source}; to set it all the same, force it with a reason`,
    metadata: {
      machine_id: machineId,
      source: observed?.source ?? '',
      upstream_state: observed?.state ?? '',
    },
    violations: [{ subject: `machines/${machineId}`, description: disagreement }],
  });
}

function checkService({ service }: Machine, to: string): Pick<ByHand, 'to' | 'owner'> {
  const byHand = serviceStatesByHand(service);
  const known = byHand.find((state) => state.to === to);
  if (known) return known;
  // A transition of another owner: applyChange refuses it and names the owner.
  const others = service === null ? [] : nextStates(serviceLifecycle, service);
  const other = others.find((state) => state === to && !OWNED_BY_OPERATIONS.includes(state));
  if (other) return { to: other, owner: 'operator' };
  const valid = byHand.map((state) => state.to).join(', ') || 'nothing';
  throw new Fault('ILLEGAL_TRANSITION', {
    message: `service can't be set from ${service ?? 'none'} to ${to.slice(0, 40)} by hand; it can be set to ${valid}`,
    metadata: { from: service ?? '', to: to.slice(0, 40) },
    violations: [
      { subject: 'service', description: `${service ?? 'none'} → ${to.slice(0, 40)} is not a transition` },
    ],
  });
}
