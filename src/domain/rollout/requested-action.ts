/** What people do to a rollout that exists (docs/rollouts.md). */
import type { Amount, GroupLimit, StopRules, Window } from './spec/rollout-spec.ts';

/** Only what is set changes. */
export interface LimitChanges {
  /** Null: no limit any more. */
  readonly maxParallel?: Amount | null;
  readonly limits?: readonly GroupLimit[];
  readonly stop?: StopRules;
  readonly soakMs?: number;
  readonly windows?: readonly Window[];
  readonly deadline?: Date;
}

/** The key is `act`, because the fingerprints of stored requests have it. */
export type RequestedAction =
  | { readonly act: 'pause' }
  | { readonly act: 'resume' }
  | { readonly act: 'abort'; readonly cancelRunning: boolean }
  /** 0: the wave that waits. */
  | { readonly act: 'approve'; readonly wave: number }
  | { readonly act: 'reject'; readonly wave: number }
  /** Empty: whatever the code, and all machines. */
  | { readonly act: 'retry'; readonly errorCode: string; readonly machineIds: readonly string[] }
  | { readonly act: 'skip'; readonly machineIds: readonly string[] }
  | { readonly act: 'update-limits'; readonly changes: LimitChanges };
