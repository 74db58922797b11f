/** What the stages that an upstream carries out have in common: the machine as the upstream has it, and how it is observed. */
import type { InterventionCode } from '../../domain/condition/intervention.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import type { MachineChange } from '../../domain/machine/machine-change.ts';
import type { StepContext } from '../../engine/step-handler.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import type { UpstreamMachine } from '../../providers/upstream.ts';
import { countOf } from '../stages/stage-memo.ts';
import { needsHuman, type Seen, underWay } from '../stages/stage-result.ts';
import { callOf, type StepEnvironment } from '../step-kind.ts';

export type UpstreamEnvironment = StepEnvironment<'upstream'>;

/** Empty: the upstream does not have the machine yet, as far as we know. */
export function upstreamIdOf({ machine }: UpstreamEnvironment): string {
  return machine.observed?.upstreamId ?? '';
}

/** The machine as the upstream has it now; null: it has none. */
export function readUpstream(
  environment: UpstreamEnvironment,
  call: ProviderCall,
): Promise<UpstreamMachine | null> {
  const id = upstreamIdOf(environment);
  return id === '' ? Promise.resolve(null) : environment.capabilities.upstream.observe(call, id);
}

/** "MAAS says Ready". */
export function saysOf({ capabilities }: UpstreamEnvironment, { status }: UpstreamMachine): string {
  return `${capabilities.upstream.product} says ${status}`;
}

export function unexpected(environment: UpstreamEnvironment, seen: UpstreamMachine): Seen {
  return needsHuman('UNEXPECTED_MAAS_STATE', `${saysOf(environment, seen)}: ${seen.statusMessage}`);
}

/** What the upstream says of the machine, as its observed state. Null: it has none. */
export function observedAs(
  { machine }: { readonly machine: Machine },
  seen: UpstreamMachine | null,
  now: Date,
): MachineChange {
  return {
    observed: {
      source: machine.spec.provider,
      state: seen?.status ?? 'absent',
      power: seen?.power ?? 'unknown',
      upstreamId: seen?.id ?? machine.observed?.upstreamId ?? '',
      at: now.toISOString(),
    },
  };
}

/** A machine whose power the upstream can't switch does not move until a person switches it. */
export function waitForUpstream(
  environment: UpstreamEnvironment,
  context: StepContext,
  seen: UpstreamMachine,
  detail = '',
): Seen {
  const words = [
    saysOf(environment, seen),
    ...(detail === '' ? [] : [detail]),
    ...(seen.isPowerManual ? ['people switch its power: boot it from the network by hand'] : []),
  ];
  return underWay(context, words.join('; '));
}

/** Observes a machine that the upstream must have by now, and records what the upstream says with the result. */
export async function observeUpstream(
  environment: UpstreamEnvironment,
  context: StepContext,
  judge: (seen: UpstreamMachine, call: ProviderCall) => Promise<Seen> | Seen,
): Promise<Seen> {
  const { machine, capabilities } = environment;
  const call = callOf(context, machine);
  const seen = await readUpstream(environment, call);
  if (seen === null) {
    const which = upstreamIdOf(environment) || 'for this node';
    const gone = needsHuman(
      'MACHINE_GONE',
      `${capabilities.upstream.product} has no machine ${which} any more`,
    );
    return { ...gone, change: observedAs(environment, null, context.now()) };
  }
  const result = await judge(seen, call);
  if (result.seen !== 'done' && result.seen !== 'failed') return result;
  return { ...result, change: { ...result.change, ...observedAs(environment, seen, context.now()) } };
}

/** Waits for as long as the site allows: after that an operator must act, and not another attempt. */
export async function waitAtMost(
  context: StepContext,
  seconds: number,
  reason: string,
  code: InterventionCode,
): Promise<Seen> {
  const since = countOf(context, 'waitingSince');
  const now = context.now().getTime();
  if (since === 0) {
    await context.save({ ...context.memo, waitingSince: now });
    return underWay(context, reason);
  }
  // Time in which the upstream did not answer says nothing about the machine.
  const waitedMs = now - since - (context.unansweredMs?.() ?? 0);
  if (waitedMs < seconds * 1000) return underWay(context, reason);
  // An operator who resumes the stage has it wait once more.
  await context.save({ ...context.memo, waitingSince: 0 });
  return needsHuman(code, `${reason}, for ${Math.round(waitedMs / 1000)} seconds`);
}
