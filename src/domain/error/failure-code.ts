/**
 * Every way in which a step can fail, in one table: what happened, what to check, which operator action continues the
 * operation once the cause is removed, and who removes it. A code that is not in here does not compile, and
 * docs/failures.md is written from it.
 */
import type { FailureRow } from './failures/advice.ts';
import { CLUSTER_FAILURES } from './failures/cluster-failures.ts';
import { ENGINE_FAILURES } from './failures/engine-failures.ts';
import { HARDWARE_FAILURES } from './failures/hardware-failures.ts';
import { HOST_FAILURES } from './failures/host-failures.ts';
import { MAAS_FAILURES } from './failures/maas-failures.ts';
import { ONBOARDING_FAILURES } from './failures/onboarding-failures.ts';

export const FAILURE_GROUPS = {
  'The engine and the server': ENGINE_FAILURES,
  'Hosts, BMCs and installations': HOST_FAILURES,
  'Changes of hardware': HARDWARE_FAILURES,
  Clusters: CLUSTER_FAILURES,
  MAAS: MAAS_FAILURES,
  'Onboarding and decommission': ONBOARDING_FAILURES,
} as const satisfies Record<string, Readonly<Record<string, FailureRow>>>;

export const FAILURES = {
  ...ENGINE_FAILURES,
  ...HOST_FAILURES,
  ...HARDWARE_FAILURES,
  ...CLUSTER_FAILURES,
  ...MAAS_FAILURES,
  ...ONBOARDING_FAILURES,
} as const;

export type FailureCode = keyof typeof FAILURES;
export const FAILURE_CODES = Object.keys(FAILURES) as FailureCode[];

export function isFailureCode(code: string): code is FailureCode {
  return Object.hasOwn(FAILURES, code);
}
