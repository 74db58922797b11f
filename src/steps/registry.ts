/** Every step kind, and how a stored step finds its handler. */
import { unmetPrecondition } from '../domain/error/fault.ts';
import type { Machine } from '../domain/machine/machine.ts';
import type { MachineChange } from '../domain/machine/machine-change.ts';
import type { StepDefinition } from '../domain/operation/step.ts';
import { StepFailure, type StepHandler } from '../engine/step-handler.ts';
import type { Capabilities, Capability, Provider } from '../providers/provider.ts';
import { changePower } from './bmc/change-power.ts';
import { clearLog } from './bmc/clear-log.ts';
import { limitPower } from './bmc/limit-power.ts';
import { overrideBoot } from './bmc/override-boot.ts';
import { resetBmc } from './bmc/reset-bmc.ts';
import { rotatePassword } from './bmc/rotate-password.ts';
import { clusterAction } from './cluster/cluster-action.ts';
import { joinCluster } from './cluster/join-cluster.ts';
import { verifyInCluster } from './cluster/verify-in-cluster.ts';
import type { ControlPlane } from './control-plane.ts';
import { bootEraser } from './disks/boot-eraser.ts';
import { eraseDisks } from './disks/erase-disks.ts';
import { repaveImage } from './disks/repave-image.ts';
import { awaitReplacement } from './hardware/await-replacement.ts';
import { biosSettings } from './hardware/bios-settings.ts';
import { bootOrder } from './hardware/boot-order.ts';
import { burnIn } from './hardware/burn-in.ts';
import { finishMigration } from './hardware/finish-migration.ts';
import { firmwareUpdate } from './hardware/firmware-update.ts';
import { inspectHardware } from './hardware/inspect-hardware.ts';
import { raid } from './hardware/raid.ts';
import { replaceHardware } from './hardware/replace-hardware.ts';
import { rmaAction } from './hardware/rma-action.ts';
import { verifyHardware } from './hardware/verify-hardware.ts';
import { virtualMedia } from './hardware/virtual-media.ts';
import { netReconfig } from './host/net-reconfig.ts';
import { sshCommand } from './host/ssh-command.ts';
import { reboot } from './power/reboot.ts';
import { setNetboot } from './power/set-netboot.ts';
import { setPhase } from './set-phase.ts';
import { workflowStage } from './stages/stage.ts';
import type { InstantStep, StepKind } from './step-kind.ts';

// biome-ignore lint/suspicious/noExplicitAny: each kind checks its own configuration
export type AnyStepKind = StepKind<any, Capability>;

export const STEP_KINDS: ReadonlyMap<string, AnyStepKind> = new Map(
  [
    setNetboot,
    reboot,
    repaveImage,
    bootEraser,
    eraseDisks,
    replaceHardware,
    awaitReplacement,
    finishMigration,
    joinCluster,
    verifyInCluster,
    clusterAction,
    setPhase,
    sshCommand,
    netReconfig,
    rmaAction,
    inspectHardware,
    verifyHardware,
    virtualMedia,
    biosSettings,
    bootOrder,
    firmwareUpdate,
    raid,
    burnIn,
    changePower,
    limitPower,
    clearLog,
    resetBmc,
    overrideBoot,
    rotatePassword,
    workflowStage,
  ].map((kind) => [kind.kind, kind as AnyStepKind]),
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
  const kind = STEP_KINDS.get(step.kind);
  if (typeof kind?.canUndo !== 'function') return kind?.canUndo ?? false;
  const config = kind.config.safeParse(step.config);
  return config.success && kind.canUndo(config.data);
}

export function isInstant(step: StepDefinition): boolean {
  return STEP_KINDS.get(step.kind)?.instant !== undefined;
}

/** What an instant step changes; null for any other, and for one whose configuration its handler refuses. */
export function instantEnd(step: StepDefinition): InstantStep | null {
  const kind = STEP_KINDS.get(step.kind);
  if (!kind?.instant) return null;
  const config = kind.config.safeParse(step.config);
  return config.success ? kind.instant(config.data) : null;
}

/** Every capability that a step may use on the machine, needed or not. */
export function capabilitiesOf(step: StepDefinition, machine: Machine): readonly Capability[] {
  const kind = kindOf(step.kind);
  const config = kind.config.parse(step.config);
  return [...kind.needs(config), ...(kind.mayUse?.(config, machine) ?? [])];
}

/** Clients know this capability by the name that it had while MAAS was the only upstream. */
const SHOWN_CAPABILITY: Partial<Record<Capability, string>> = { upstream: 'maas' };

/** Refuses steps that need what the provider hasn't got, before anything starts. */
export function checkCapabilities(steps: readonly StepDefinition[], provider: Provider): void {
  for (const step of steps) {
    const missing = missingCapability(kindOf(step.kind), step, provider);
    if (missing === undefined) continue;
    const capability = SHOWN_CAPABILITY[missing] ?? missing;
    throw unmetPrecondition('CAPABILITY_MISSING', {
      message: `step ${step.name} needs ${capability}, which provider ${provider.name} does not have`,
      metadata: { step: step.name, capability, provider: provider.name },
      violations: [{ subject: `providers/${provider.name}`, description: `has no ${capability}` }],
    });
  }
}

function missingCapability(
  kind: AnyStepKind,
  step: StepDefinition,
  provider: Provider,
): Capability | undefined {
  return kind.needs(kind.config.parse(step.config)).find((need) => provider.capabilities[need] === undefined);
}

/** The step with everything filled in that its plan left to the machine. */
export function completeStep(step: StepDefinition, machine: Machine, provider: Provider): StepDefinition {
  const kind = kindOf(step.kind);
  const config = kind.config.parse(step.config);
  return { ...step, config: kind.complete?.(config, machine, provider) ?? config };
}

export interface HandlerDependencies {
  readonly machine: Machine;
  readonly provider: Provider;
  readonly controlPlane: ControlPlane;
}

export function handlerFor(
  step: StepDefinition,
  { machine, provider, controlPlane }: HandlerDependencies,
): StepHandler<MachineChange> {
  const kind = STEP_KINDS.get(step.kind);
  if (!kind) {
    throw new StepFailure({
      class: 'needs_human',
      code: 'UNKNOWN_STEP_KIND',
      message: `this server does not know the step kind ${step.kind}`,
    });
  }
  const config = kind.config.safeParse(step.config);
  if (!config.success) {
    throw new StepFailure({
      class: 'needs_human',
      code: 'INVALID_STEP_CONFIG',
      message: `this server does not understand the configuration of the step ${step.name}`,
    });
  }
  const missing = missingCapability(kind, step, provider);
  if (missing !== undefined) {
    throw new StepFailure({
      class: 'needs_human',
      code: 'CAPABILITY_MISSING',
      message: `provider ${provider.name} has lost ${SHOWN_CAPABILITY[missing] ?? missing} since the start`,
    });
  }
  return kind.handler(config.data, {
    machine,
    capabilities: provider.capabilities as Capabilities,
    controlPlane,
  });
}
