/** Every step kind, and how a stored step finds its handler. */
import { Fault } from '../domain/fault.ts';
import type { Machine } from '../domain/machine.ts';
import type { MachineChange } from '../domain/machine-change.ts';
import type { StepDefinition } from '../domain/step.ts';
import { StepFailure, type StepHandler } from '../engine/step-handler.ts';
import type { Capabilities, Capability, Provider } from '../providers/provider.ts';
import { joinCluster } from './join-cluster.ts';
import { reboot } from './reboot.ts';
import { repaveImage } from './repave-image.ts';
import { setNetboot } from './set-netboot.ts';
import { setPhase } from './set-phase.ts';
import type { StepKind } from './step-kind.ts';
import { verifyInCluster } from './verify-in-cluster.ts';

// biome-ignore lint/suspicious/noExplicitAny: each kind checks its own configuration; the list does not care
export type AnyStepKind = StepKind<any, Capability>;

export const STEP_KINDS: ReadonlyMap<string, AnyStepKind> = new Map(
  [setNetboot, reboot, repaveImage, joinCluster, verifyInCluster, setPhase].map((kind) => [
    kind.kind,
    kind as AnyStepKind,
  ]),
);

/** What a recipe says of a step; titles, time limits and retries have defaults. */
export interface StepRecipe {
  readonly name: string;
  readonly kind: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds: number;
  readonly maxRetries: number;
  readonly title?: string;
  readonly doneTitle?: string;
}

export function defineStep(recipe: StepRecipe): StepDefinition {
  const kind = kindOf(recipe.kind);
  return {
    ...recipe,
    config: kind.config.parse(recipe.config) as Record<string, unknown>,
    title: recipe.title ?? kind.title,
    doneTitle: recipe.doneTitle ?? kind.doneTitle,
  };
}

function kindOf(name: string): AnyStepKind {
  const kind = STEP_KINDS.get(name);
  if (!kind) throw new RangeError(`there is no step kind ${name}`);
  return kind;
}

export function canUndo(step: StepDefinition): boolean {
  return STEP_KINDS.get(step.kind)?.canUndo ?? false;
}

export function isInstant(step: StepDefinition): boolean {
  return STEP_KINDS.get(step.kind)?.instant ?? false;
}

/** Refuses steps that need what the provider hasn't got, before anything starts. */
export function checkCapabilities(steps: readonly StepDefinition[], provider: Provider): void {
  for (const step of steps) {
    const missing = kindOf(step.kind).needs.find((need) => provider.capabilities[need] === undefined);
    if (missing === undefined) continue;
    throw new Fault('failed_precondition', {
      reason: 'CAPABILITY_MISSING',
      message: `step ${step.name} needs ${missing}, which provider ${provider.name} does not have`,
      metadata: { step: step.name, capability: missing, provider: provider.name },
      violations: [{ subject: `providers/${provider.name}`, description: `has no ${missing}` }],
    });
  }
}

export function handlerFor(
  step: StepDefinition,
  machine: Machine,
  provider: Provider,
): StepHandler<MachineChange> {
  const kind = STEP_KINDS.get(step.kind);
  if (!kind) {
    throw new StepFailure({
      class: 'needs_human',
      code: 'UNKNOWN_STEP_KIND',
      message: `this server does not know the step kind ${step.kind}`,
    });
  }
  const missing = kind.needs.find((need) => provider.capabilities[need] === undefined);
  if (missing !== undefined) {
    throw new StepFailure({
      class: 'needs_human',
      code: 'CAPABILITY_MISSING',
      message: `provider ${provider.name} has lost ${missing} since the operation started`,
    });
  }
  return kind.handler(kind.config.parse(step.config), {
    machine,
    can: provider.capabilities as Capabilities,
  });
}
