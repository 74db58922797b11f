/** Document 3 §6.2: what an upstream should say of a node, and what follows when it says something else. */

import type { Machine } from '../machine/machine.ts';
import type { MachineChange } from '../machine/machine-change.ts';
import type { ServiceState } from '../machine/service-state.ts';
import type { OnboardingStage } from '../workflow/stage.ts';
import { type Condition, type ConditionChange, isTrue } from './condition.ts';

interface Expectation {
  /** Null: whatever it says is fine. */
  readonly states: readonly string[] | null;
  /**
   * What follows from anything else. `owner`: the operation that owns the state looks by itself; `workflow`: the
   * onboarding that failed needs a human; `attention`: the table of §3 lets nobody move it, so somebody must look.
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

/** "Depending on stage": what may be said of a node whose onboarding failed there. Null: it is not known yet. */
const EXPECTED_AT: Readonly<Record<OnboardingStage, readonly string[] | null>> = {
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
/** The reason of Provisioned while the upstream says that nothing is deployed. */
const NOT_DEPLOYED_REASON = 'UpstreamNotDeployed';

/** What the upstream should say of a node in this state; of one that is quarantined, what would bring it back. */
export function expectedUpstream(service: ServiceState | null): readonly string[] | null {
  if (service === null) return null;
  return EXPECTED[service === 'quarantined' ? 'active' : service].states;
}

/** Why a node should not be in this state, by what its upstream says; null where nothing speaks against it. */
export function upstreamDisagreement(
  { observed }: Pick<Machine, 'observed'>,
  service: ServiceState | null,
): string | null {
  // What was only found by an address is not taken into use there: it says nothing about the node.
  if (observed === null || observed.upstreamId === '') return null;
  const states = expectedUpstream(service);
  if (states === null || states.includes(observed.state)) return null;
  const says = observed.state === 'absent' ? 'has no record of it' : `says ${observed.state}`;
  return `${observed.source} ${says}, and a node that is ${service === 'quarantined' ? 'active' : service} should be ${states.join(' or ')}`;
}

/**
 * What becomes of a machine of which its upstream says `state`. While an operation works on it, nothing does.
 * `quarantinedByUs`: nobody but drift or its own onboarding has put it where it is.
 */
export function changeByDrift(machine: Machine, state: string, quarantinedByUs: boolean): MachineChange {
  if (machine.activeOperationId !== null) return {};
  const change = serviceByDrift(machine, state, quarantinedByUs);
  const provisioned = provisionedBy(machine.conditions.Provisioned, state);
  if (provisioned === null) return change;
  return { ...change, conditions: [...(change.conditions ?? []), provisioned] };
}

/** Provisioned follows: false while nothing is deployed, true again where that alone had made it false. */
function provisionedBy(before: Condition | undefined, state: string): ConditionChange | null {
  const isOurs = before?.status === false && before.reason === NOT_DEPLOYED_REASON;
  if (state === 'Deployed') {
    const message = 'the upstream says Deployed again';
    return isOurs ? { type: 'Provisioned', status: true, reason: 'Deployed', message } : null;
  }
  // A word that we don't know says neither.
  if (state === 'Unknown') return null;
  const message = `the upstream says ${state}`;
  const isNews = before?.status === true || (isOurs && before.message !== message);
  return isNews ? { type: 'Provisioned', status: false, reason: NOT_DEPLOYED_REASON, message } : null;
}

function serviceByDrift(machine: Machine, state: string, quarantinedByUs: boolean): MachineChange {
  const { service, presence, conditions } = machine;
  if (service === null) return {};
  const { states, otherwise }: Expectation = EXPECTED[service];
  if (states && !states.includes(state)) {
    const why = `the upstream says ${state}; a node that is ${service} should be ${states.join(' or ')}`;
    if (otherwise === 'quarantine') {
      if (machine.observed?.accepted && machine.observed.state === state) return {};
      return { service: { to: 'quarantined', owner: 'reconciler', comment: why } };
    }
    const isNews = otherwise === 'attention' && !isTrue(conditions, 'NeedsIntervention');
    return isNews ? { conditions: [attention(true, why)] } : {};
  }
  if (isDrifted(machine)) return { conditions: [attention(false, `the upstream says ${state}`)] };
  // What drift has done, the end of the drift undoes, once the node itself is heard again and nothing else is amiss.
  const isWell = state === 'Deployed' && presence === 'ready' && !isTrue(conditions, 'NeedsIntervention');
  if (service === 'quarantined' && quarantinedByUs && isWell) {
    const comment = 'the upstream says Deployed again, and the agent speaks';
    return { service: { to: 'active', owner: 'reconciler', comment } };
  }
  return {};
}

function isDrifted({ conditions: { NeedsIntervention } }: Machine): boolean {
  return NeedsIntervention?.status === true && NeedsIntervention.reason === DRIFT_REASON;
}

function attention(status: boolean, message: string) {
  return { type: 'NeedsIntervention', status, reason: DRIFT_REASON, message } as const;
}

/** Why an onboarding that failed at a stage can't simply be tried again there; null: it can. */
export function driftAtStage(stage: string, state: string): string | null {
  const states = stage in EXPECTED_AT ? EXPECTED_AT[stage as OnboardingStage] : null;
  if (!states || states.includes(state)) return null;
  return `the upstream says ${state}; at ${stage} it should be ${[...new Set(states)].join(' or ')}`;
}
