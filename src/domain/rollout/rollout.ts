/** A rollout as it is stored, and the states of its parts (docs/rollouts.md). */
import type { Gate, RolloutSpec } from './spec/rollout-spec.ts';

export type RolloutState =
  | 'scheduled'
  | 'running'
  | 'paused'
  | 'stopped'
  | 'aborting'
  | 'succeeded'
  | 'failed'
  | 'aborted'
  | 'expired';

export type WaveState = 'waiting' | 'waiting_for_approval' | 'running' | 'soaking' | 'done';

export type RolloutMachineState =
  | 'pending'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'skipped'
  | 'canceled'
  | 'ineligible';

export type MachineCounts = Readonly<Record<RolloutMachineState, number>>;

export interface RolloutWave {
  /** From 1. */
  readonly number: number;
  readonly name: string;
  readonly state: WaveState;
  readonly machines: MachineCounts;
  readonly gate: Gate;
  /** The rule of the configuration that asks for a second person; empty: the spec does. */
  readonly approvalRule: string;
  /** As "role:name"; empty: no one opened the gate. */
  readonly approvedBy: string;
  readonly approvedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly soaksUntil: Date | null;
}

export interface RolloutMachine {
  readonly machineId: string;
  /** From 1; 0: it is not eligible, and in no wave. */
  readonly wave: number;
  readonly state: RolloutMachineState;
  /** Index of the step that it is at; the number of steps when it is done. */
  readonly step: number;
  /** Oldest first. */
  readonly operationIds: readonly string[];
  readonly errorCode: string;
  readonly message: string;
  readonly attempts: number;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export interface RolloutAction {
  readonly at: Date;
  readonly action:
    | 'create'
    | 'pause'
    | 'resume'
    | 'abort'
    | 'approve'
    | 'reject'
    | 'retry'
    | 'skip'
    | 'update-limits'
    | 'roll-back';
  readonly by: string;
  readonly reason: string;
  readonly detail: string;
}

export interface FailureGroup {
  readonly errorCode: string;
  readonly machines: number;
  readonly exampleMachineId: string;
  readonly exampleMessage: string;
}

export interface Rollout {
  readonly rolloutId: string;
  readonly spec: RolloutSpec;
  readonly state: RolloutState;
  /** What holds it up right now, in one sentence; empty where nothing does. */
  readonly waitingFor: string;
  readonly reason: string;
  readonly waves: readonly RolloutWave[];
  /** Of all machines; those that are not eligible are in no wave. */
  readonly machines: MachineCounts;
  readonly failures: readonly FailureGroup[];
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Empty: it rolls nothing back. */
  readonly rollsBack: string;
  readonly rolledBackBy: readonly string[];
  readonly revision: number;
  readonly actions: readonly RolloutAction[];
}
