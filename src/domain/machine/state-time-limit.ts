/**
 * How long a machine may be in a state before somebody should ask why. States that machines may stay in for good have
 * no limit. Nothing happens to a machine that stays longer: it is counted, listed and told what to do about.
 */

import { quote } from '../filter/quote.ts';
import type { InstallState } from '../install/install-state.ts';
import type { EffectiveState } from './effective-state.ts';
import type { ServiceState } from './service-state.ts';

export interface Dwell {
  readonly limitSeconds: number;
  /** What to do about a machine that stays longer. */
  readonly advice: string;
}

const HOUR = 3600;
const DAY = 24 * HOUR;

const EFFECTIVE_DWELL = {
  NEW: { limitSeconds: 30 * DAY, advice: 'set it up (enter maintenance, reimage), or remove it' },
  IDLE: null,
  BUSY: {
    limitSeconds: 2 * HOUR,
    advice: 'look at its operation: is it waiting for something that will not come?',
  },
  MAINTENANCE: { limitSeconds: 7 * DAY, advice: 'finish the work and exit maintenance' },
  ATTENTION: { limitSeconds: DAY, advice: 'ask explain what failed, and act on the operation' },
  BLOCKED: null,
} as const satisfies Record<EffectiveState, Dwell | null>;

const SERVICE_DWELL = {
  bootstrap_issued: { limitSeconds: HOUR, advice: 'start its agent with the token, or issue another one' },
  enrolling: { limitSeconds: 2 * HOUR, advice: 'look at its onboarding, or at why its agent is not ready' },
  active: null,
  offline: { limitSeconds: DAY, advice: 'look at the machine and its agent, or take it out of service' },
  quarantined: { limitSeconds: 3 * DAY, advice: 'end the investigation: back to active, or drain it' },
  draining: { limitSeconds: 4 * HOUR, advice: 'see which workloads do not go, or give the drain up' },
  retired: null,
  removing: { limitSeconds: 2 * HOUR, advice: 'look at the removal’s operation' },
  deleted: null,
} as const satisfies Record<ServiceState, Dwell | null>;

const INSTALL_DWELL = {
  discovered: { limitSeconds: 3 * DAY, advice: 'approve it with a workflow, or retire it' },
  pending: { limitSeconds: DAY, advice: 'boot it over the network: it installs when it does' },
  installing: { limitSeconds: 2 * HOUR, advice: 'look at its console and at its last report' },
  install_failed: {
    limitSeconds: DAY,
    advice: 'read the last error, put it right, and set it to pending with force',
  },
  installed: { limitSeconds: DAY, advice: 'verify it and set it active, or image it again' },
  active: null,
  reprovision: { limitSeconds: DAY, advice: 'set it to pending and boot it over the network' },
  deprovisioning: { limitSeconds: DAY, advice: 'see how far the erasure is, then retire it' },
  migrating: { limitSeconds: DAY, advice: 'finish the replacement of hardware and set it active' },
  retired: null,
} as const satisfies Record<InstallState, Dwell | null>;

/** By layer: the field of the API, and the field that tells since when. */
export const DWELL_LAYERS = {
  effective_state: { since: 'effective_since', states: EFFECTIVE_DWELL },
  service: { since: 'service_since', states: SERVICE_DWELL },
  install: { since: 'install_since', states: INSTALL_DWELL },
} as const satisfies Record<string, { since: string; states: Readonly<Record<string, Dwell | null>> }>;

export type DwellLayer = keyof typeof DWELL_LAYERS;

export interface DwellLimit extends Dwell {
  readonly layer: DwellLayer;
  readonly state: string;
}

export const DWELL_LIMITS: readonly DwellLimit[] = (Object.keys(DWELL_LAYERS) as DwellLayer[]).flatMap(
  (layer) =>
    Object.entries<Dwell | null>(DWELL_LAYERS[layer].states).flatMap(([state, dwell]) =>
      dwell === null ? [] : [{ layer, state, ...dwell }],
    ),
);

/** Who came into the state before this time is in it for too long. */
export function dwellEnd(limit: Dwell, now: Date): Date {
  return new Date(now.getTime() - limit.limitSeconds * 1000);
}

/** Shows the machines that are in the state for too long at that time. */
export function overdueFilter(limit: DwellLimit, now: Date): string {
  const { since } = DWELL_LAYERS[limit.layer];
  return `${limit.layer}=${limit.state} AND ${since}<${quote(dwellEnd(limit, now).toISOString())}`;
}
