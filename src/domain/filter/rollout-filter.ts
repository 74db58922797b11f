/** What rollouts, and the machines of one, can be filtered by. */

import type { Rollout, RolloutMachine } from '../rollout/rollout.ts';
import { statesOfRolloutMachines, statesOfRollouts } from '../rollout/rollout-state.ts';
import { type Attribute, type FilterSchema, fieldsOf } from './fields.ts';

/** The store has a column for each (src/store/filter/rollout-columns.ts). */
const ROLLOUT_ATTRIBUTES = {
  rollout_id: { kind: 'string', get: (rollout) => rollout.rolloutId },
  name: { kind: 'string', get: (rollout) => rollout.spec.name },
  state: { kind: 'enum', values: statesOfRollouts, get: (rollout) => rollout.state },
  created_by: { kind: 'string', get: (rollout) => rollout.createdBy },
  rolls_back: { kind: 'string', get: (rollout) => rollout.rollsBack },
  created_at: { kind: 'timestamp', get: (rollout) => rollout.createdAt },
  started_at: { kind: 'timestamp', get: (rollout) => rollout.startedAt },
  finished_at: { kind: 'timestamp', get: (rollout) => rollout.finishedAt },
  /** A machine that it has. */
  machine_id: { kind: 'reference' },
} as const satisfies Record<string, Attribute<Rollout>>;

export type RolloutAttributes = typeof ROLLOUT_ATTRIBUTES;

export const ROLLOUT_FILTER: FilterSchema<Rollout, keyof RolloutAttributes> = fieldsOf<
  Rollout,
  keyof RolloutAttributes
>(ROLLOUT_ATTRIBUTES);

const MACHINE_ATTRIBUTES = {
  machine_id: { kind: 'string', get: (machine) => machine.machineId },
  state: { kind: 'enum', values: statesOfRolloutMachines, get: (machine) => machine.state },
  wave: { kind: 'integer', get: (machine) => machine.wave },
  /** From 1, as in the API. */
  step: { kind: 'integer', get: (machine) => machine.step + 1 },
  attempts: { kind: 'integer', get: (machine) => machine.attempts },
  error_code: { kind: 'string', get: (machine) => machine.errorCode },
} as const satisfies Record<string, Attribute<RolloutMachine>>;

export type RolloutMachineAttributes = typeof MACHINE_ATTRIBUTES;

export const ROLLOUT_MACHINE_FILTER: FilterSchema<RolloutMachine, keyof RolloutMachineAttributes> = fieldsOf<
  RolloutMachine,
  keyof RolloutMachineAttributes
>(MACHINE_ATTRIBUTES);
