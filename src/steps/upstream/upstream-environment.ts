/** What the stages that are MAAS's to carry out have in common: the machine as MAAS has it, and how it is looked at. */
import type { InterventionCode } from '../../domain/condition/intervention.ts';
import type { DecommissionStage, OnboardingStage } from '../../domain/workflow/stage.ts';
import type { StepContext } from '../../engine/step-handler.ts';
import type { MaasMachine } from '../../providers/maas/maas-control.ts';
import type { ProviderCall } from '../../providers/provider.ts';
import {
  countOf,
  needsHuman,
  observedIn,
  type Seen,
  type StageHandler,
  underWay,
} from '../stages/stage-handling.ts';
import { callOf, type StepEnvironment } from '../step-kind.ts';

export type MaasStage =
  | OnboardingStage
  | Extract<DecommissionStage, 'release_maas_node' | 'power_off_maas_node' | 'remove_maas_record'>;

export interface StageConfig {
  readonly pool: string;
  readonly erase: boolean;
}

export type MaasStepEnvironment = StepEnvironment<'maas'>;
export type Stage = (environment: MaasStepEnvironment, config: StageConfig) => StageHandler;

export function idOf({ machine }: MaasStepEnvironment): string {
  return machine.observed?.upstreamId ?? '';
}

/** MAAS can neither switch nor ask it. */
export function isSwitchedByHand({ powerType }: Pick<MaasMachine, 'powerType'>): boolean {
  return powerType === 'manual' || powerType === '';
}

/** What MAAS can't switch goes nowhere until a person does. */
export function underWayIn(context: StepContext, seen: MaasMachine, detail = ''): Seen {
  const words = [
    `MAAS says ${seen.status}`,
    ...(detail === '' ? [] : [detail]),
    ...(isSwitchedByHand(seen) ? ['people switch its power: boot it from the network by hand'] : []),
  ];
  return underWay(context, words.join('; '));
}

/** The machine in MAAS, as everybody who is past finding it expects it: there. */
export async function inMaas(
  environment: MaasStepEnvironment,
  context: StepContext,
  look: (seen: MaasMachine, call: ProviderCall) => Promise<Seen> | Seen,
): Promise<Seen> {
  const { machine, capabilities } = environment;
  const call = callOf(context, machine);
  const systemId = idOf(environment);
  const seen = systemId === '' ? null : await capabilities.maas.read(call, systemId);
  if (seen === null) {
    const gone = needsHuman('MACHINE_GONE', `MAAS has no machine ${systemId || 'for this node'} any more`);
    return { ...gone, change: observedIn(machine.spec.provider, null, machine, context.now()) };
  }
  const result = await look(seen, call);
  if (result.seen !== 'done' && result.seen !== 'failed') return result;
  const observed = observedIn(machine.spec.provider, seen, machine, context.now());
  return { ...result, change: { ...result.change, ...observed } };
}

/** Where a stage waits, until the site's patience is over: then a human must look, and not another attempt. */
export async function waitsOr(
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
  // A time in which the upstream could not be asked says nothing about the machine.
  const waitedMs = now - since - (context.unansweredMs?.() ?? 0);
  if (waitedMs < seconds * 1000) return underWay(context, reason);
  // Whoever resumes it has it wait once more.
  await context.save({ ...context.memo, waitingSince: 0 });
  return needsHuman(code, `${reason}, for ${Math.round(waitedMs / 1000)} seconds`);
}
