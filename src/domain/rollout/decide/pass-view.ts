/** What a pass over a rollout sees, and what it decides: the input and the output of decidePass (decide-pass.ts). */
import type { Role } from '../../actor.ts';
import type { MachineCounts, RolloutMachineState, RolloutState, RolloutWave, WaveState } from '../rollout.ts';
import type { RolloutSpec } from '../spec/rollout-spec.ts';
import type { FailureTally } from '../stop-rule.ts';

export interface PassView {
  readonly spec: RolloutSpec;
  readonly state: RolloutState;
  readonly reason: string;
  readonly tally: FailureTally;
  /** Every wave that is open, and the first of those that wait. */
  readonly waves: readonly WaveInView[];
  /** Of all waves. */
  readonly totals: MachineCounts;
  /** Running machines whose operation has ended. */
  readonly ended: readonly EndedMachine[];
  /** Running machines at a step that only observes. */
  readonly observed: readonly ObservedMachine[];
  /** Running machines whose next operation is to be started. */
  readonly continuing: readonly MachineInView[];
  /** Pending machines of open waves, in the order of their turn; there may be more. */
  readonly candidates: readonly MachineInView[];
  /** For each limit by group: how many machines of the rollout are under way, by group. */
  readonly underWay: readonly ReadonlyMap<string, number>[];
  /** Some of those machines, by group. */
  readonly occupants: readonly ReadonlyMap<string, readonly string[]>[];
  /** Why the start of a pending machine was put off; empty: none was. */
  readonly putOff: string;
  /** What of the machines that are done, or of their pools, is bad; null: it was not read for this pass. */
  readonly findings: readonly Finding[] | null;
  /** Failed machines whose operation was retried by hand since, and succeeded. */
  readonly recovered: readonly MachineInView[];
  readonly now: Date;
}

export interface Finding {
  /** The same for the same finding. */
  readonly key: string;
  readonly sentence: string;
}

export interface WaveInView
  extends Pick<RolloutWave, 'number' | 'state' | 'gate' | 'approvedBy' | 'machines' | 'soaksUntil'> {
  readonly isLast: boolean;
  /** The least role that opened its gate because a rule of the configuration asked for it; null: no rule did. */
  readonly approvedAs: Role | null;
}

export interface MachineInView {
  readonly machineId: string;
  readonly wave: number;
  /** Index of the step that it is at. */
  readonly step: number;
  /** From 1; a retry adds one. */
  readonly attempt: number;
  /** For each limit by group: "=" and its value of the field; empty: the limit does not count it. */
  readonly groups: readonly string[];
}

export interface EndedMachine extends MachineInView {
  readonly result: OperationResult;
}

export type OperationResult =
  | { readonly outcome: 'succeeded' }
  | { readonly outcome: 'failed' | 'canceled'; readonly errorCode: string; readonly message: string };

export interface ObservedMachine extends MachineInView {
  /** Whether it matches the filter of the step now. */
  readonly matches: boolean;
  /** Since when it has matched without a break; null: it did not. */
  readonly matchesSince: Date | null;
  readonly stepSince: Date;
}

/** What becomes of one machine. */
export interface MachineMove {
  readonly machineId: string;
  readonly wave: number;
  readonly from: RolloutMachineState;
  readonly to: RolloutMachineState;
  readonly step: number;
  readonly errorCode: string;
  readonly message: string;
  readonly matchesSince: Date | null;
  readonly stepSince: Date | null;
}

export interface WaveMove {
  readonly number: number;
  readonly from: WaveState;
  readonly to: WaveState;
  readonly soaksUntil: Date | null;
}

/** The operation of a machine's step is to be started. */
export interface StartOrder extends MachineInView {
  /** `pending`: the machine's first, which counts against limits; `running`: the next one of a chain. */
  readonly from: 'pending' | 'running';
}

export interface PassDecision {
  readonly state: RolloutState;
  readonly reason: string;
  /** One sentence; empty: nothing holds it up. */
  readonly waitingFor: string;
  readonly tally: FailureTally;
  readonly moves: readonly MachineMove[];
  readonly waves: readonly WaveMove[];
  readonly starts: readonly StartOrder[];
  /** Every machine that has not started becomes canceled, with this message; empty: none does. */
  readonly cancelPending: string;
  /** When time alone changes the decision; null: it does not. */
  readonly dueAt: Date | null;
}
