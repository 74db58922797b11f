/** A plan: typed steps, in order, that a run applies to a machine. The server's defaults fill in what a step leaves out. */
import type { RunType } from '../v1/run-type.ts';
import { RESTART_KUBELET, UPGRADE_KUBELET } from './kubelet-upgrade.ts';

export const PLAN_ID_RULE = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126})$/;
export const PLAN_ID_PROBLEM = 'must be 1 to 127 letters, digits, ".", "_" or "-"';

export interface PlanStep {
  readonly name: string;
  readonly kind: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Null: the server's default. */
  readonly timeoutSeconds: number | null;
  /** Null: the server's default. */
  readonly maxRetries: number | null;
}

export interface Plan {
  readonly planId: string;
  readonly displayName: string;
  readonly steps: readonly PlanStep[];
}

export interface StepDefaults {
  readonly timeoutSeconds: number;
  readonly maxRetries: number;
}

function step(
  name: string,
  kind: string,
  timeoutSeconds: number,
  maxRetries: number,
  config: Readonly<Record<string, unknown>> = {},
): PlanStep {
  return { name, kind, config, timeoutSeconds, maxRetries };
}

/** What a run of each type does when it names no plan. */
export const DEFAULT_PLANS = {
  REPAVE: {
    planId: 'default-repave',
    displayName: 'Repave and join cluster',
    steps: [
      step('set-netboot', 'netboot', 60, 2, { mode: 'PXE' }),
      step('repave-os', 'repave', 1800, 1),
      step('reboot', 'reboot', 300, 2, { mode: 'bmc' }),
      step('join-cluster', 'join', 600, 1),
      step('verify', 'verify', 300, 0),
    ],
  },
  REBOOT: {
    planId: 'default-reboot',
    displayName: 'Reboot',
    steps: [step('reboot', 'reboot', 300, 1, { mode: 'bmc' })],
  },
  RMA: {
    planId: 'default-rma',
    displayName: 'Return to manufacturer',
    steps: [
      step('drain-check', 'rma', 120, 1, { action: 'drain-check' }),
      step('graceful-shutdown', 'rma', 120, 1, { action: 'graceful-shutdown' }),
      step('mark-rma', 'rma', 60, 1, { action: 'mark-rma' }),
    ],
  },
  UPGRADE: {
    planId: 'default-upgrade',
    displayName: 'Upgrade kubelet',
    steps: [
      step('cordon', 'cluster', 60, 2, { action: 'cordon' }),
      step('drain', 'cluster', 600, 1, { action: 'drain' }),
      step('upgrade-kubelet', 'ssh', 300, 1, { command: UPGRADE_KUBELET, repeatable: true }),
      step('restart-kubelet', 'ssh', 300, 1, { command: RESTART_KUBELET, repeatable: true }),
      step('uncordon', 'cluster', 60, 2, { action: 'uncordon' }),
      step('verify', 'verify', 120, 3),
    ],
  },
  NET_RECONFIG: {
    planId: 'default-net-reconfig',
    displayName: 'Apply network configuration',
    steps: [
      step('apply', 'net', 120, 2, { action: 'apply' }),
      step('verify-connectivity', 'net', 60, 3, { action: 'verify' }),
    ],
  },
  JOIN: {
    planId: 'default-join',
    displayName: 'Join cluster',
    steps: [step('join-cluster', 'join', 600, 1), step('verify', 'verify', 300, 0)],
  },
} as const satisfies Record<RunType, Plan>;
