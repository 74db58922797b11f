/** Document 3 §6.2: what an upstream should say of a node, and what follows when it says something else. */

import type { Machine } from './machine.ts';
import type { MachineChange } from './machine-change.ts';
import type { ServiceState } from './service-state.ts';

/** Null: whatever it says is fine, or a workflow's business. */
const EXPECTED: Readonly<Record<ServiceState, readonly string[] | null>> = {
  bootstrap_issued: null,
  enrolling: null,
  active: ['Deployed'],
  offline: ['Deployed'],
  quarantined: null,
  draining: null,
  retired: null,
  removing: null,
  deleted: null,
};

export const DRIFT_ACTOR = 'drift';

/** What becomes of a machine of which its upstream says `state`. While an operation works on it, nothing does. */
export function changeByDrift(machine: Machine, state: string, quarantinedByDrift: boolean): MachineChange {
  const { service, activeOperationId, presence } = machine;
  if (service === null || activeOperationId !== null) return {};
  const expected = EXPECTED[service];
  if (expected && !expected.includes(state)) {
    const comment = `the upstream says ${state}; a node that is ${service} should be ${expected.join(' or ')}`;
    return { service: { to: 'quarantined', owner: 'reconciler', comment } };
  }
  // What drift has done, the end of the drift undoes, once the node itself is heard again.
  if (service === 'quarantined' && quarantinedByDrift && state === 'Deployed' && presence === 'ready') {
    const comment = 'the upstream says Deployed again, and the agent speaks';
    return { service: { to: 'active', owner: 'reconciler', comment } };
  }
  return {};
}
