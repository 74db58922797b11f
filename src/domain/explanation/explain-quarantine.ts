/** Why a machine is quarantined, by whom, its present state in the upstream, and how it returns to service. */
import type { ActorKind } from '../actor.ts';
import { DRIFT_ACTOR } from '../condition/drift.ts';
import { type UpstreamView, utcText } from '../condition/upstream-view.ts';
import type { Machine } from '../machine/machine.ts';
import type { ExplainedMachine, Obstacle } from './explain.ts';

/** The actor of the last change of the service state, and the reason. */
export interface LastServiceChange {
  readonly actorKind: ActorKind;
  readonly actorId: string;
  readonly comment: string;
}

const PEOPLE: readonly ActorKind[] = ['admin', 'operator'];

export function onboarding({ machineId, pool }: Machine): Pick<Obstacle, 'command' | 'action' | 'params'> {
  return {
    command: `onboard ${machineId} --pool ${pool ?? '<pool>'}`,
    action: 'onboard',
    params: { pool: pool ?? '' },
  };
}

/** Empty where the machine has no upstream. */
export function seenWords(upstream: UpstreamView | null): string {
  return upstream === null ? '' : `, seen ${utcText(upstream.seenAt)}`;
}

/** A machine that its upstream deleted or changed can't be set active by hand without force: the advice avoids that. */
export function quarantined({ machine, serviceMover, upstream }: ExplainedMachine): Obstacle {
  const { observed, presence } = machine;
  if (serviceMover && PEOPLE.includes(serviceMover.actorKind)) {
    return byPerson(machine, serviceMover, upstream);
  }
  const comment = serviceMover?.comment ?? '';
  const because = comment === '' ? '' : ` (${comment})`;
  if (observed?.state === 'absent') {
    return {
      what: `it is quarantined: its record in ${observed.source} is gone${because}${seenWords(upstream)}`,
      unblock: 'find out who deleted it, and that the hardware is there; then onboard it again',
      who: 'operator',
      ...onboarding(machine),
    };
  }
  if (observed && observed.state !== 'Deployed') {
    return {
      what: `it is quarantined: ${observed.source} says ${observed.state}${because}${seenWords(upstream)}`,
      unblock: WAYS_BACK[observed.state]?.(observed.source) ?? wayBack(observed.source),
      who: 'upstream',
      ...onboarding(machine),
    };
  }
  if (observed && serviceMover?.actorId === DRIFT_ACTOR && presence !== 'ready') {
    return {
      what: `it is quarantined: ${observed.source} says Deployed again${seenWords(upstream)}, and its agent does not report${because}`,
      unblock: 'bring the machine or its agent back; its next keepalive puts it back into service',
      who: 'site',
      command: `show ${machine.machineId}`,
    };
  }
  return released(machine, `it is quarantined${comment === '' ? '' : `: ${comment}`}`);
}

const wayBack = (source: string) => `wait until ${source} is finished with it; then onboard it again`;

const WAYS_BACK: Readonly<Record<string, (source: string) => string>> = {
  Broken: (source) => `repair it and mark it fixed in ${source}; then onboard it again`,
  Ready: () => 'find out who released it; then onboard it again',
};

/** A machine that a person quarantined is under investigation: only a person releases it. */
function byPerson(machine: Machine, mover: LastServiceChange, upstream: UpstreamView | null): Obstacle {
  const { actorKind, actorId, comment } = mover;
  const what = `it is quarantined by ${actorKind}:${actorId}${comment === '' ? '' : `: ${comment}`}`;
  if (upstream === null || upstream.disagreement === '') return released(machine, what);
  const { machineId } = machine;
  return {
    what: `${what}; ${upstream.disagreement}${seenWords(upstream)}`,
    unblock: 'when the investigation is over, drain it, and onboard it again when it is retired',
    who: 'operator',
    command: `drain ${machineId}`,
    action: 'drain',
  };
}

function released({ machineId }: Machine, what: string): Obstacle {
  return {
    what,
    unblock: 'prove that it is healthy, then release it',
    who: 'operator',
    command: `service ${machineId} active --reason "…"`,
    action: 'set_service',
    params: { service: 'active' },
  };
}
