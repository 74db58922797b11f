/**
 * What a rollout is asked to do: which steps, on which machines, in which waves, within which limits (docs/rollouts.md). This
 * is the checked form: durations are milliseconds, amounts are numbers or shares, filters are known to parse.
 */

/** The verbs that a rollout can carry out; `verify` only observes and starts no operation. */
export type RolloutStep =
  | {
      readonly verb: 'enter-maintenance';
      readonly durationMs: number | null;
      readonly reason: string;
      readonly exitWhenOver: boolean;
    }
  | { readonly verb: 'exit-maintenance' }
  | { readonly verb: 'reboot' }
  /** An empty image is the provider's default. */
  | { readonly verb: 'reimage'; readonly imageRef: string }
  | {
      readonly verb: 'verify';
      /** A machine filter; a condition that was asked for is `conditions.<name>=true`. */
      readonly filter: string;
      readonly forMs: number;
      readonly timeoutMs: number;
    }
  | { readonly verb: 'plan'; readonly planId: string; readonly type: string }
  | { readonly verb: 'onboard'; readonly pool: string }
  | { readonly verb: 'decommission'; readonly mode: string }
  | { readonly verb: 'drain' }
  | { readonly verb: 'remove' }
  | { readonly verb: 'erase'; readonly overwrite: string };

/** So many machines, or a share of a number of machines that is known later. */
export type Amount = { readonly count: number } | { readonly percent: number };

export type Gate = 'automatic' | 'approval' | 'second-person';

export type WavePlan =
  | { readonly sizes: readonly (Amount | 'rest')[] }
  | { readonly by: string; readonly order: readonly string[] };

export interface GroupLimit {
  /** A field of machines; empty: one group. */
  readonly groupBy: string;
  /** A machine filter; empty: every machine counts. */
  readonly filter: string;
  readonly maxUnavailable: Amount;
}

/** A rule that is null never holds. */
export interface StopRules {
  readonly afterFailures: number | null;
  readonly failurePercent: number | null;
  readonly sameError: number | null;
  readonly poolDegraded: boolean;
  /** A machine filter; empty: no such rule. */
  readonly unhealthy: string;
  readonly metrics: readonly MetricRule[];
  readonly cancelRunning: boolean;
}

export interface MetricRule {
  readonly name: string;
  readonly above: number | null;
  readonly below: number | null;
}

export type Weekday = 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';

export interface Window {
  readonly days: readonly Weekday[];
  /** Minutes after midnight. */
  readonly from: number;
  readonly to: number;
  readonly timeZone: string;
}

/** Whole days, as YYYY-MM-DD, both included. */
export interface Blackout {
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly reason: string;
}

export interface RolloutSpec {
  readonly name: string;
  /** Empty where the machines are listed. */
  readonly filter: string;
  readonly machineIds: readonly string[];
  readonly follow: boolean;
  readonly steps: readonly RolloutStep[];
  readonly waves: WavePlan;
  readonly soakMs: number;
  readonly gate: Gate;
  /** By the place of the wave; null: `gate`. */
  readonly gates: readonly (Gate | null)[];
  readonly maxParallel: Amount | null;
  readonly limits: readonly GroupLimit[];
  readonly stop: StopRules;
  readonly windows: readonly Window[];
  readonly blackouts: readonly Blackout[];
  readonly startAt: Date | null;
  readonly deadline: Date | null;
  readonly reason: string;
  readonly overrideBudget: boolean;
}
