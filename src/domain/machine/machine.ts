import type { Presence } from '../agent/presence.ts';
import type { Conditions } from '../condition/condition.ts';
import type { HardwareSummary } from '../hardware/hardware-summary.ts';
import type { Locating } from '../hardware/locating.ts';
import type { InstallState } from '../install/install-state.ts';
import type { OperationType } from '../operation/operation-type.ts';
import type { Maintenance } from './maintenance.ts';
import type { Phase } from './phase.ts';
import type { ServiceState } from './service-state.ts';
import type { SPEC_FIELDS, SpecOf } from './spec/spec-field.ts';

/** What clients say about a machine: a value for each row of SPEC_FIELDS, under the API's own name. */
export type MachineSpec = SpecOf<typeof SPEC_FIELDS>;

export type Labels = Readonly<Record<string, string>>;

/** Each layer of its state has its own lifecycle, and is null until it is first needed. */
export interface Machine {
  readonly machineId: string;
  readonly labels: Labels;
  readonly spec: MachineSpec;
  readonly phase: Phase;
  readonly service: ServiceState | null;
  readonly install: InstallState | null;
  readonly presence: Presence | null;
  /** The worker pool that its agent belongs to; null without an agent. */
  readonly pool: string | null;
  readonly conditions: Conditions;
  /** What its upstream, such as MAAS, last reported; null without an upstream. */
  readonly observed: ObservedState | null;
  /** Null in any other phase than MAINTENANCE. */
  readonly maintenance: Maintenance | null;
  /** The main facts of its hardware; null: no source has reported it. */
  readonly hardware: HardwareSummary | null;
  /** How much trouble it was in 90 days, from 0 to 100 (src/domain/hardware/lemon-score.ts). */
  readonly lemonScore: number;
  /** Its indicator is on; null: it is off. */
  readonly locating: Locating | null;
  readonly activeOperationId: string | null;
  readonly activeOperationType: OperationType | null;
  /** When it first was READY or active; null: it was never in service. */
  readonly enteredServiceAt: Date | null;
  /** When it came into its effective state, its service state and its install state; without meaning where the layer is null. */
  readonly effectiveSince: Date;
  readonly serviceSince: Date;
  readonly installSince: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Recorded from an upstream, never decided by Ingot. */
export interface ObservedState {
  /** The provider that was asked. */
  readonly source: string;
  /** The upstream's own name of the state, such as Deployed; "absent" when it has no such machine. */
  readonly state: string;
  readonly power: string;
  /** Empty: it was found by its MAC address, and is not managed there. */
  readonly upstreamId: string;
  /** Since when it has this state. */
  readonly at: string;
  /** An operator accepted exactly this state; removed when the upstream reports another one. */
  readonly accepted?: AcceptedDrift;
}

/** An operator put the machine into service although its upstream disagrees. */
export interface AcceptedDrift {
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}
