/**
 * How long a machine may be in a state before an operator should ask why. States that machines may stay in for good have
 * no limit. A machine that stays longer is overdue: it is counted and listed with advice, and nothing else happens to it.
 */

import { quote } from '../filter/quote.ts';
import type { InstallState } from '../install/install-state.ts';
import type { EffectiveState } from './effective-state.ts';
import type { ServiceState } from './service-state.ts';

export interface TimeLimit {
  readonly limitSeconds: number;
  /** What to do about a machine that is overdue. */
  readonly advice: string;
}

const HOUR = 3600;
const DAY = 24 * HOUR;

const EFFECTIVE_STATE_LIMITS = {
  NEW: { limitSeconds: 30 * DAY, advice: 'set it up (enter maintenance, reimage), or remove it' },
  IDLE: null,
  BUSY: {
    limitSeconds: 2 * HOUR,
    advice: 'check its operation: it may wait for something that will not happen',
  },
  MAINTENANCE: { limitSeconds: 7 * DAY, advice: 'finish the work and exit maintenance' },
  ATTENTION: { limitSeconds: DAY, advice: 'run explain to see what failed, then act on the operation' },
  BLOCKED: null,
} as const satisfies Record<EffectiveState, TimeLimit | null>;

const SERVICE_STATE_LIMITS = {
  bootstrap_issued: { limitSeconds: HOUR, advice: 'start its agent with the token, or issue another one' },
  enrolling: { limitSeconds: 2 * HOUR, advice: 'check its onboarding, or why its agent is not ready' },
  active: null,
  offline: { limitSeconds: DAY, advice: 'check the machine and its agent, or take it out of service' },
  quarantined: { limitSeconds: 3 * DAY, advice: 'finish the investigation: set it to active, or drain it' },
  draining: { limitSeconds: 4 * HOUR, advice: 'find the workloads that stay, or cancel the drain' },
  retired: null,
  removing: { limitSeconds: 2 * HOUR, advice: 'check the operation that removes it' },
  deleted: null,
} as const satisfies Record<ServiceState, TimeLimit | null>;

const INSTALL_STATE_LIMITS = {
  discovered: { limitSeconds: 3 * DAY, advice: 'approve it with a workflow, or retire it' },
  pending: { limitSeconds: DAY, advice: 'boot it over the network to install it' },
  installing: { limitSeconds: 2 * HOUR, advice: 'check its console and its last report' },
  install_failed: {
    limitSeconds: DAY,
    advice: 'read the last error, fix it, and set it to pending with force',
  },
  installed: { limitSeconds: DAY, advice: 'verify it and set it active, or image it again' },
  active: null,
  reprovision: { limitSeconds: DAY, advice: 'set it to pending and boot it over the network' },
  deprovisioning: { limitSeconds: DAY, advice: 'check the progress of the erasure, then retire it' },
  migrating: { limitSeconds: DAY, advice: 'finish replacing the hardware, then set it active' },
  retired: null,
} as const satisfies Record<InstallState, TimeLimit | null>;

/** By layer, which is a field of the API, with the field that has the time of its last change. */
export const LIMITED_LAYERS = {
  effective_state: { since: 'effective_since', states: EFFECTIVE_STATE_LIMITS },
  service: { since: 'service_since', states: SERVICE_STATE_LIMITS },
  install: { since: 'install_since', states: INSTALL_STATE_LIMITS },
} as const satisfies Record<string, { since: string; states: Readonly<Record<string, TimeLimit | null>> }>;

export type LimitedLayer = keyof typeof LIMITED_LAYERS;

export interface StateTimeLimit extends TimeLimit {
  readonly layer: LimitedLayer;
  readonly state: string;
}

export const STATE_TIME_LIMITS: readonly StateTimeLimit[] = (
  Object.keys(LIMITED_LAYERS) as LimitedLayer[]
).flatMap((layer) =>
  Object.entries<TimeLimit | null>(LIMITED_LAYERS[layer].states).flatMap(([state, limit]) =>
    limit === null ? [] : [{ layer, state, ...limit }],
  ),
);

/** A machine that is in the state since before this time is overdue. */
export function overdueBefore(limit: TimeLimit, now: Date): Date {
  return new Date(now.getTime() - limit.limitSeconds * 1000);
}

/** The filter that finds the machines that are overdue at that time. */
export function overdueFilter(limit: StateTimeLimit, now: Date): string {
  const { since } = LIMITED_LAYERS[limit.layer];
  return `${limit.layer}=${limit.state} AND ${since}<${quote(overdueBefore(limit, now).toISOString())}`;
}
