/** The obstacle that a machine's service state is, one function a state. Null where the state itself blocks nothing. */
import { isOnboardCanceled, isTrue } from '../condition/condition.ts';
import type { Machine } from '../machine/machine.ts';
import type { ServiceState } from '../machine/service-state.ts';
import type { Operation } from '../operation/operation.ts';
import { isActive } from '../operation/operation-status.ts';
import type { ExplainedMachine, Obstacle } from './explain.ts';
import { onboarding, quarantined } from './explain-quarantine.ts';

/** States in which only the operation that brought the machine there can continue. */
export const OWNED_BY_OPERATION: readonly (ServiceState | null)[] = ['enrolling', 'draining', 'removing'];

export function outOfService(subject: ExplainedMachine): Obstacle | null {
  const { machine, operation } = subject;
  if (operation && isActive(operation.status)) return null;
  // The failed operation is the reason for these states, and is reported as such.
  const isOperationsState =
    OWNED_BY_OPERATION.includes(machine.service) || isUnsafeOnboarding(machine, operation);
  if (hasFailed(operation) && isOperationsState) return null;
  return machine.service === null ? null : BY_SERVICE_STATE[machine.service](subject);
}

function hasFailed(operation: Operation | null): boolean {
  return operation?.status.startsWith('failed') === true;
}

/** A failed onboarding quarantined the machine and waits for an operator: set active by hand, it would not be deployed. */
function isUnsafeOnboarding({ service, conditions }: Machine, operation: Operation | null): boolean {
  const isFailing = operation?.type === 'ONBOARD' && isTrue(conditions, 'NeedsIntervention');
  return service === 'quarantined' && isFailing;
}

const BY_SERVICE_STATE = {
  bootstrap_issued: ({ machine }) => notRegistered(machine),
  enrolling: ({ machine }) => notOnboarded(machine),
  active: () => null,
  offline: ({ machine }) => offline(machine),
  quarantined: (subject) => quarantined(subject),
  draining: ({ machine: { machineId } }) => ({
    what: 'it is draining, and no operation drains it',
    unblock: 'start the drain again',
    who: 'operator',
    command: `drain ${machineId}`,
    action: 'drain',
  }),
  retired: (subject) => retired(subject),
  removing: ({ machine: { machineId } }) => ({
    what: 'it is being removed, and no operation removes it',
    unblock: 'start the removal again',
    who: 'operator',
    command: `remove ${machineId}`,
    action: 'remove',
  }),
  deleted: () => null,
} as const satisfies Record<ServiceState, (subject: ExplainedMachine) => Obstacle | null>;

function notRegistered({ machineId, presence, pool }: Machine): Obstacle {
  if (presence === 'expired') {
    return {
      what: 'its agent did not register before its token expired',
      unblock: 'issue another token, and start its agent with it',
      who: 'operator',
      command: `machine create --machine-id ${machineId} --pool ${pool ?? '<pool>'}`,
    };
  }
  return {
    what: 'its agent has not registered yet',
    unblock: 'start its agent with the token that was issued',
    who: 'operator',
    command: '',
  };
}

function notOnboarded(machine: Machine): Obstacle {
  if (isTrue(machine.conditions, 'OperationCanceled')) return onboardingCanceled(machine);
  return {
    what: 'it is not onboarded yet',
    unblock: 'onboard it, or let its agent send keepalives',
    who: 'operator',
    ...onboarding(machine),
  };
}

function onboardingCanceled(machine: Machine): Obstacle {
  return {
    what: 'its onboarding was canceled',
    unblock: 'onboard it again',
    who: 'operator',
    ...onboarding(machine),
  };
}

function offline(machine: Machine): Obstacle | null {
  const { machineId, presence, conditions } = machine;
  if (isOnboardCanceled(conditions)) return onboardingCanceled(machine);
  // The condition is reported as the obstacle; the agent is fine.
  if (presence === 'ready' && isTrue(conditions, 'NeedsIntervention')) return null;
  if (presence === 'ready') {
    return {
      what: 'its agent reports again, and it is about to be put back into service',
      unblock: 'wait a few seconds',
      who: 'nobody',
      command: `show ${machineId}`,
    };
  }
  return {
    what: 'its agent does not report',
    unblock: 'bring the machine or its agent back; its next keepalive puts it back into service',
    who: 'site',
    command: `show ${machineId}`,
  };
}

function retired({ machine, operation }: ExplainedMachine): Obstacle | null {
  const { machineId, conditions, observed } = machine;
  // The operation that failed left it retired, and is reported as the obstacle.
  if (hasFailed(operation) && isTrue(conditions, 'NeedsIntervention')) return null;
  if (observed && observed.state !== 'Deployed') {
    return {
      what: 'it was taken out of scheduling on purpose, and nothing is deployed on it',
      unblock: 'onboard it again, as the same machine',
      who: 'operator',
      ...onboarding(machine),
    };
  }
  return {
    what: 'it was taken out of scheduling on purpose',
    unblock: 'use it again; its keepalives then put it back into service',
    who: 'admin',
    command: `service ${machineId} offline --reason "…"`,
    action: 'set_service',
    params: { service: 'offline' },
  };
}
