/**
 * The failures that stop an onboarding until an operator acts (docs/maas.md). After one that only blocks, the machine stays
 * `enrolling`: the operator fixes the cause, and the onboarding goes on. After one that is unsafe, it is `quarantined`: the record in
 * the upstream is another machine's, is gone, or was changed outside of Ingot, and must be understood before anything else is done.
 */
import type { FailureCode } from '../error/failure-code.ts';
import type { ServiceState } from '../machine/service-state.ts';

interface Intervention {
  /** The trigger, as docs/maas.md names it. */
  readonly trigger: string;
  readonly leaves: Extract<ServiceState, 'enrolling' | 'quarantined'>;
}

export const INTERVENTIONS = {
  NO_MAC_ADDRESS: { trigger: 'conflicting discovery candidates', leaves: 'enrolling' },
  CONFLICTING_CANDIDATES: { trigger: 'conflicting discovery candidates', leaves: 'quarantined' },
  BOOT_DISK_NOT_FOUND: { trigger: 'BOSS disk not found', leaves: 'enrolling' },
  PXE_NOT_FIXABLE: { trigger: 'PXE interface not fixable automatically', leaves: 'enrolling' },
  MACHINE_GONE: { trigger: 'machine deleted from MAAS during workflow', leaves: 'quarantined' },
  DATASOURCE_FAILED: {
    trigger: 'repeated datasource/cloud-init failure after bounded retry',
    leaves: 'enrolling',
  },
  HARDWARE_SYNC_OFF: { trigger: 'repeated hardware-sync or SSH seed failure', leaves: 'enrolling' },
  HARDWARE_SYNC_FAILED: { trigger: 'repeated hardware-sync or SSH seed failure', leaves: 'enrolling' },
  AGENT_NEVER_ENROLLED: { trigger: 'repeated hardware-sync or SSH seed failure', leaves: 'enrolling' },
  DEPLOYMENT_FAILED: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'enrolling',
  },
  BROKEN: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'quarantined',
  },
  FAILED_TESTING: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'quarantined',
  },
  MAAS_MACHINE_OWNED: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'quarantined',
  },
  MAAS_MACHINE_LOCKED: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'enrolling',
  },
  UNEXPECTED_MAAS_STATE: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'quarantined',
  },
  UPSTREAM_DRIFTED: {
    trigger: 'workflow state and observed MAAS/node state disagree in a way automation cannot safely adopt',
    leaves: 'quarantined',
  },
} as const satisfies Partial<Record<FailureCode, Intervention>>;

export type InterventionCode = keyof typeof INTERVENTIONS;

export function isUnsafe(code: string): boolean {
  return (
    Object.hasOwn(INTERVENTIONS, code) && INTERVENTIONS[code as InterventionCode].leaves === 'quarantined'
  );
}
