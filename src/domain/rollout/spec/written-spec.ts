/** What a caller wrote as the spec of a rollout, before anything of it is checked. */
export interface WrittenSpec {
  readonly name: string;
  readonly filter: string;
  readonly machineIds: readonly string[];
  readonly follow: boolean;
  readonly steps: readonly WrittenStep[];
  readonly waves: readonly string[];
  readonly by: string;
  readonly order: readonly string[];
  readonly soak: string;
  readonly gate: string;
  readonly gates: readonly string[];
  readonly maxParallel: string;
  readonly limits: readonly WrittenLimit[];
  readonly stop?: WrittenStop | undefined;
  readonly windows: readonly WrittenWindow[];
  readonly blackouts: readonly WrittenBlackout[];
  /** Null: not set. A time that no calendar has is an invalid Date. */
  readonly startAt: Date | null;
  readonly deadline: Date | null;
  readonly reason: string;
  readonly overrideBudget: boolean;
}

/** One verb with its parameters; the case is undefined where none is set. */
export interface WrittenStep {
  readonly step:
    | {
        readonly case: 'enterMaintenance';
        readonly value: {
          readonly duration: string;
          readonly reason: string;
          readonly exitWhenOver: boolean;
        };
      }
    | { readonly case: 'reimage'; readonly value: { readonly imageRef: string } }
    | { readonly case: 'verify'; readonly value: WrittenVerify }
    | { readonly case: 'plan'; readonly value: { readonly planId: string; readonly type: string } }
    | { readonly case: 'onboard'; readonly value: { readonly pool: string } }
    | { readonly case: 'decommission'; readonly value: { readonly mode: string } }
    | { readonly case: 'erase'; readonly value: { readonly overwrite: string } }
    | { readonly case: 'exitMaintenance' | 'reboot' | 'drain' | 'remove'; readonly value: object }
    | { readonly case: undefined; readonly value?: undefined };
}

export interface WrittenVerify {
  readonly condition: string;
  readonly filter: string;
  readonly for: string;
  readonly timeout: string;
}

export interface WrittenLimit {
  readonly groupBy: string;
  readonly filter: string;
  readonly maxUnavailable: string;
}

export interface WrittenStop {
  readonly afterFailures: number;
  readonly failurePercent: number;
  readonly sameError: number;
  readonly poolDegraded: boolean;
  readonly unhealthy: string;
  readonly metrics: readonly {
    readonly name: string;
    readonly above?: number | undefined;
    readonly below?: number | undefined;
  }[];
  readonly cancelRunning: boolean;
}

export interface WrittenWindow {
  readonly days: readonly string[];
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
}

export interface WrittenBlackout {
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly reason: string;
}
