import type { Presence } from '../agent/presence.ts';
import type { Conditions } from '../condition/condition.ts';
import type { InstallState } from '../install/install-state.ts';
import type { Phase } from './phase.ts';
import type { ServiceState } from './service-state.ts';
import type { SPEC_FIELDS, SpecOf } from './spec-field.ts';

/** What clients say about a machine: a value for each row of SPEC_FIELDS, under the API's own name. */
export type MachineSpec = SpecOf<typeof SPEC_FIELDS>;

export type Labels = Readonly<Record<string, string>>;

/** One row, one identity; each layer of its state is a lifecycle of its own, null until first needed. */
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
  /** What an upstream last said of it; null where there is none. */
  readonly observed: ObservedState | null;
  readonly activeOperationId: string | null;
  /** Since when it is in its effective state, its service state and its install state; of a layer that is null, nothing. */
  readonly effectiveSince: Date;
  readonly serviceSince: Date;
  readonly installSince: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Not ours, only recorded. */
export interface ObservedState {
  /** The provider that was asked. */
  readonly source: string;
  /** In the upstream's own words, such as Deployed; "absent" when it knows no such machine. */
  readonly state: string;
  readonly power: string;
  /** Empty: it was found by an address, and is not taken into use there. */
  readonly upstreamId: string;
  /** Since when it says so. */
  readonly at: string;
  /** Whose word counts against this very state of the upstream; gone when the upstream says anything else. */
  readonly accepted?: AcceptedDrift;
}

/** An operator put the machine into service although its upstream disagrees. */
export interface AcceptedDrift {
  readonly by: string;
  readonly reason: string;
  readonly at: string;
}
