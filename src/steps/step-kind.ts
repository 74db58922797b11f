/**
 * A step kind: a name, the capabilities that it needs, the shape of its configuration, and the handler that the
 * engine drives. Each kind has a file; registry.ts lists them.
 */
import type { z } from 'zod';
import type { Machine } from '../domain/machine/machine.ts';
import type { MachineChange } from '../domain/machine/machine-change.ts';
import type { StepContext, StepHandler } from '../engine/step-handler.ts';
import type { Capabilities, Capability, Provider, ProviderCall } from '../providers/provider.ts';
import type { ControlPlane } from './control-plane.ts';

/**
 * What a handler works with: the machine as it was when the operation was claimed, the capabilities of its provider, and the
 * control plane. The capabilities that the kind needs are there; others it may use where the provider has them.
 */
export interface StepEnvironment<Needed extends Capability> {
  readonly machine: Machine;
  readonly capabilities: Pick<Capabilities, Needed> & Partial<Capabilities>;
  readonly controlPlane: ControlPlane;
}

export interface InstantStep {
  readonly message: string;
  readonly change: MachineChange;
}

export interface StepKind<Config, Needed extends Capability> {
  readonly kind: string;
  readonly needs: (config: Config) => readonly Needed[];
  /** What it uses of a provider that has it, on this machine: checked at the start like what it needs. */
  readonly mayUse?: (config: Config, machine: Machine) => readonly Capability[];
  readonly config: z.ZodType<Config>;
  /** "Setting netboot" */
  readonly title: string;
  /** "Netboot configured" */
  readonly doneTitle: string;
  /** Fills in what a plan left to the machine or its provider; throws a Fault when there is nothing to fill in. */
  readonly complete?: (config: Config, machine: Machine, provider: Provider) => Config;
  /** A function where it depends on the configuration. */
  readonly canUndo: boolean | ((config: Config) => boolean);
  /**
   * For a kind whose whole work is a change of the machine's row: what it changes. Such a step touches nothing outside and is
   * over at once, so its start and its end are written together.
   */
  readonly instant?: (config: Config) => InstantStep;
  readonly handler: (config: Config, environment: StepEnvironment<Needed>) => StepHandler<MachineChange>;
}

/** The provider's call of an attempt to undo: its key differs from that of every attempt to go forward. */
export function undoCallOf(context: StepContext, machine: Machine): ProviderCall {
  return {
    ...callOf(context, machine),
    key: `${context.operationId}/${context.step}/undo-${context.attempt}`,
  };
}

/** The provider's call of a step. */
export function callOf(context: StepContext, machine: Machine): ProviderCall {
  return {
    machine,
    key: `${context.operationId}/${context.step}/${context.attempt}`,
    step: context.step,
    ...(context.round > 0 && {
      operatorRetry: `${context.operationId}/${context.step}/round-${context.round}`,
    }),
    fence: context.fence,
    checkHeld: context.checkHeld,
    signal: context.signal,
    log: context.log,
  };
}
