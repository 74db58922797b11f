/**
 * Colours of states, for every surface that has colours. Those of effective states are part of the API
 * (docs/operations-api.md); the others use the same six: gray is not started or over, green is well, blue is working, yellow is
 * out of service on purpose, orange needs an operator, red is failed or unusable.
 */

import type { Presence } from './agent/presence.ts';
import type { InstallState } from './install/install-state.ts';
import { EFFECTIVE_STATES } from './machine/effective-state.ts';
import type { Phase } from './machine/phase.ts';
import type { ServiceState } from './machine/service-state.ts';
import type { OperationStatus } from './operation/operation-status.ts';
import type { StepState } from './operation/step-state.ts';
import type { RolloutMachineState, RolloutState, WaveState } from './rollout/rollout.ts';

export type Tone = (typeof EFFECTIVE_STATES)[keyof typeof EFFECTIVE_STATES]['colour'];

const PHASE_TONES = {
  FACTORY_READY: 'gray',
  READY: 'green',
  MAINTENANCE: 'yellow',
} as const satisfies Record<Phase, Tone>;

const SERVICE_TONES = {
  bootstrap_issued: 'gray',
  enrolling: 'blue',
  active: 'green',
  offline: 'orange',
  quarantined: 'orange',
  draining: 'blue',
  retired: 'yellow',
  removing: 'blue',
  deleted: 'gray',
} as const satisfies Record<ServiceState, Tone>;

const INSTALL_TONES = {
  discovered: 'gray',
  pending: 'blue',
  installing: 'blue',
  install_failed: 'red',
  installed: 'green',
  active: 'green',
  reprovision: 'blue',
  deprovisioning: 'blue',
  migrating: 'blue',
  retired: 'gray',
} as const satisfies Record<InstallState, Tone>;

const PRESENCE_TONES = {
  pending: 'gray',
  registered: 'blue',
  ready: 'green',
  expired: 'orange',
} as const satisfies Record<Presence, Tone>;

const OPERATION_STATUS_TONES = {
  pending: 'gray',
  running: 'blue',
  compensating: 'yellow',
  completed: 'green',
  reconciled: 'green',
  failed_retryable: 'red',
  failed_manual_intervention: 'red',
  cancelled: 'gray',
} as const satisfies Record<OperationStatus, Tone>;

const STEP_TONES = {
  waiting: 'gray',
  running: 'blue',
  succeeded: 'green',
  failed: 'red',
  undone: 'yellow',
} as const satisfies Record<StepState, Tone>;

const OPERATION_PHASE_TONES = {
  PENDING: 'gray',
  RUNNING: 'blue',
  SUCCEEDED: 'green',
  FAILED: 'red',
  CANCELED: 'gray',
} as const satisfies Record<string, Tone>;

const ROLLOUT_TONES = {
  scheduled: 'gray',
  running: 'blue',
  paused: 'yellow',
  stopped: 'orange',
  aborting: 'yellow',
  succeeded: 'green',
  failed: 'red',
  aborted: 'gray',
  expired: 'orange',
} as const satisfies Record<RolloutState, Tone>;

const WAVE_TONES = {
  waiting: 'gray',
  waiting_for_approval: 'orange',
  running: 'blue',
  soaking: 'yellow',
  done: 'green',
} as const satisfies Record<WaveState, Tone>;

/** Red, so that a few that failed stand out among thousands. */
const ROLLOUT_MACHINE_TONES = {
  pending: 'gray',
  running: 'blue',
  succeeded: 'green',
  failed: 'red',
  skipped: 'gray',
  canceled: 'yellow',
  ineligible: 'gray',
} as const satisfies Record<RolloutMachineState, Tone>;

const TONES = {
  effective_state: Object.fromEntries(
    Object.entries(EFFECTIVE_STATES).map(([state, { colour }]) => [state, colour]),
  ),
  phase: PHASE_TONES,
  service: SERVICE_TONES,
  install: INSTALL_TONES,
  presence: PRESENCE_TONES,
  status: OPERATION_STATUS_TONES,
  step: STEP_TONES,
  operation_phase: OPERATION_PHASE_TONES,
  rollout: ROLLOUT_TONES,
  wave: WAVE_TONES,
  rollout_machine: ROLLOUT_MACHINE_TONES,
} as const satisfies Record<string, Readonly<Record<string, Tone>>>;

export type ToneLayer = keyof typeof TONES;

/** Gray for a state that this version does not know. */
export function toneOf(layer: ToneLayer, state: string): Tone {
  const tones: Readonly<Record<string, Tone>> = TONES[layer];
  return tones[state] ?? 'gray';
}
