/** Which states an upstream should report for a node, and what follows when it reports another one (docs/maas.md). */

import type { Machine } from '../machine/machine.ts';
import type { MachineChange } from '../machine/machine-change.ts';
import type { ServiceState } from '../machine/service-state.ts';
import type { OnboardingStage } from '../workflow/stage.ts';
import { type Condition, type ConditionChange, isTrue } from './condition.ts';
import type { ObservedWord } from './observed-word.ts';

type ExpectedState = ObservedWord | 'absent';

interface Expectation {
  /** Null: any state is fine. */
  readonly states: readonly ExpectedState[] | null;
  /**
   * What follows from any other state. `owner`: the operation that owns the service state handles it; `workflow`: the failed
   * onboarding needs an operator; `attention`: the lifecycle has no transition for it, so an operator must look at it.
   */
  readonly otherwise: 'quarantine' | 'workflow' | 'attention' | 'owner';
}

const DEPLOYED = ['Deployed'] as const;
const GIVEN_BACK = ['Ready', 'Releasing', 'Disk erasing'] as const;

export const EXPECTED = {
  bootstrap_issued: { states: null, otherwise: 'attention' },
  enrolling: {
    states: ['New', 'Commissioning', 'Testing', 'Ready', 'Allocated', 'Reserved', 'Deploying', 'Deployed'],
    otherwise: 'workflow',
  },
  active: { states: DEPLOYED, otherwise: 'quarantine' },
  offline: { states: DEPLOYED, otherwise: 'quarantine' },
  quarantined: { states: null, otherwise: 'attention' },
  draining: { states: [...DEPLOYED, ...GIVEN_BACK], otherwise: 'owner' },
  retired: { states: [...DEPLOYED, ...GIVEN_BACK], otherwise: 'attention' },
  removing: { states: [...GIVEN_BACK, 'absent'], otherwise: 'owner' },
  deleted: { states: null, otherwise: 'attention' },
} as const satisfies Record<ServiceState, Expectation>;

const TO_BE_PREPARED = ['New', 'Commissioning', 'Failed commissioning', 'Testing', 'Ready'] as const;
const TO_BE_DEPLOYED = ['Ready', 'Allocated', 'Reserved', 'Deploying', 'Deployed'] as const;

/** The states that are fine for a node whose onboarding failed at the stage. Null: the upstream does not have it yet. */
const EXPECTED_AT: Readonly<Record<OnboardingStage, readonly ObservedWord[] | null>> = {
  load_site_config: null,
  resolve_power_credentials: null,
  create_or_find_in_maas: null,
  commission_node: [...TO_BE_PREPARED, ...TO_BE_DEPLOYED],
  wait_for_ready: [...TO_BE_PREPARED, ...TO_BE_DEPLOYED],
  configure_storage: TO_BE_DEPLOYED,
  apply_roce_phase2: TO_BE_DEPLOYED,
  ensure_pxe_interface_auto: TO_BE_DEPLOYED,
  render_cloud_init: TO_BE_DEPLOYED,
  deploy_via_maas: TO_BE_DEPLOYED,
  wait_for_deployed: [...TO_BE_DEPLOYED, 'Failed deployment'],
  classify_deploy_failure: [...TO_BE_DEPLOYED, 'Failed deployment'],
  recover_for_datasource_retry: [...TO_BE_DEPLOYED, ...GIVEN_BACK, 'Failed deployment'],
  ensure_hardware_sync_configured: DEPLOYED,
  wait_for_hardware_sync_healthy: DEPLOYED,
  wait_for_agent_enrollment: DEPLOYED,
};

export const DRIFT_ACTOR = 'drift';
export const DRIFT_REASON = 'UpstreamDrift';
/** The reason of Provisioned while the upstream reports that nothing is deployed. */
const NOT_DEPLOYED_REASON = 'UpstreamNotDeployed';

/** The states that the upstream should report; for a quarantined node, those that would let it be active again. */
export function expectedUpstream(service: ServiceState | null): readonly string[] | null {
  if (service === null) return null;
  return EXPECTED[service === 'quarantined' ? 'active' : service].states;
}

/** Why the upstream's report does not fit this service state; null where it does. */
export function upstreamDisagreement(
  { observed }: Pick<Machine, 'observed'>,
  service: ServiceState | null,
): string | null {
  // A machine that was only found by its address is not managed there: its state means nothing for the node.
  if (observed === null || observed.upstreamId === '') return null;
  const states = expectedUpstream(service);
  if (states === null || states.includes(observed.state)) return null;
  const says = observed.state === 'absent' ? 'has no record of it' : `says ${observed.state}`;
  return `${observed.source} ${says}, and a node that is ${service === 'quarantined' ? 'active' : service} should be ${states.join(' or ')}`;
}

/** Its upstream disagrees, and no operator has accepted that. */
export function upstreamDiffers({ observed, service }: Pick<Machine, 'observed' | 'service'>): boolean {
  return observed?.accepted === undefined && upstreamDisagreement({ observed }, service) !== null;
}

/** `system`: because of drift, or by its own onboarding. Null: it is not quarantined. */
export type QuarantinedBy = 'system' | 'operator' | null;

/** The change of a machine for which its upstream reports `state`. While an operation is active there is none. */
export function changeByDrift(machine: Machine, state: string, quarantinedBy: QuarantinedBy): MachineChange {
  if (machine.activeOperationId !== null) return {};
  const change = serviceByDrift(machine, state, quarantinedBy);
  const provisioned = provisionedBy(machine.conditions.Provisioned, state);
  if (provisioned === null) return change;
  return { ...change, conditions: [...(change.conditions ?? []), provisioned] };
}

/** Provisioned is false while nothing is deployed, and true again if only that had made it false. */
function provisionedBy(before: Condition | undefined, state: string): ConditionChange | null {
  const isOurs = before?.status === false && before.reason === NOT_DEPLOYED_REASON;
  if (state === 'Deployed') {
    const message = 'the upstream says Deployed again';
    return isOurs ? { type: 'Provisioned', status: true, reason: 'Deployed', message } : null;
  }
  // A state that we don't know means neither.
  if (state === 'Unknown') return null;
  const message = `the upstream says ${state}`;
  const isNews = before?.status === true || (isOurs && before.message !== message);
  return isNews ? { type: 'Provisioned', status: false, reason: NOT_DEPLOYED_REASON, message } : null;
}

function serviceByDrift(machine: Machine, state: string, quarantinedBy: QuarantinedBy): MachineChange {
  const { service, presence, conditions } = machine;
  if (service === null) return {};
  const { otherwise } = EXPECTED[service];
  const states: readonly string[] | null = EXPECTED[service].states;
  if (states && !states.includes(state)) {
    const why = `the upstream says ${state}; a node that is ${service} should be ${states.join(' or ')}`;
    if (otherwise === 'quarantine') {
      if (machine.observed?.accepted && machine.observed.state === state) return {};
      return { service: { to: 'quarantined', owner: 'reconciler', comment: why } };
    }
    const isNews = otherwise === 'attention' && !isTrue(conditions, 'NeedsIntervention');
    return isNews ? { conditions: [driftIntervention(true, why)] } : {};
  }
  if (isDrifted(machine)) return { conditions: [driftIntervention(false, `the upstream says ${state}`)] };
  // The end of the drift undoes what the drift did, once the agent is ready again and nothing else is wrong.
  const isHealthy = state === 'Deployed' && presence === 'ready' && !isTrue(conditions, 'NeedsIntervention');
  if (service === 'quarantined' && quarantinedBy === 'system' && isHealthy) {
    const comment = 'the upstream says Deployed again, and the agent is ready';
    return { service: { to: 'active', owner: 'reconciler', comment } };
  }
  return {};
}

function isDrifted({ conditions: { NeedsIntervention } }: Machine): boolean {
  return NeedsIntervention?.status === true && NeedsIntervention.reason === DRIFT_REASON;
}

function driftIntervention(status: boolean, message: string) {
  return { type: 'NeedsIntervention', status, reason: DRIFT_REASON, message } as const;
}

/** Why an onboarding can't be retried at the stage where it failed; null: it can. */
export function driftAtStage(stage: string, state: string): string | null {
  const states: readonly string[] | null =
    stage in EXPECTED_AT ? EXPECTED_AT[stage as OnboardingStage] : null;
  if (!states || states.includes(state)) return null;
  return `the upstream says ${state}; at ${stage} it should be ${[...new Set(states)].join(' or ')}`;
}
