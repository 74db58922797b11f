/**
 * How changes of an agent's presence affect its machine. Presence is the fact; the service state and Reachable follow it.
 *
 * An onboarding operation decides itself when its machine is in service. Without one, the agent's own enrolment is the whole
 * onboarding: it registers, it sends a keepalive, it is in service.
 */
import type { Actor } from '../actor.ts';
import { isTrue, staysOutOfService } from '../condition/condition.ts';
import type { Machine } from '../machine/machine.ts';
import { applyChange, type ChangedMachine, type MachineChange } from '../machine/machine-change.ts';

type ServiceChange = NonNullable<MachineChange['service']>;

const AGENT_CONDITIONS = {
  ready: {
    type: 'Reachable',
    status: true,
    reason: 'AgentReady',
    message: 'its agent sends keepalives',
  },
  lost: {
    type: 'Reachable',
    status: false,
    reason: 'AgentSilent',
    message: 'its agent has sent no keepalive for longer than its time to live',
  },
} as const;

/** A token was issued for the machine. An agent that is alive stays alive, but needs the new token. */
export function tokenIssued(
  machine: Machine,
  by: { readonly at: Date; readonly actor: Actor },
): ChangedMachine {
  const waits = machine.presence === null || machine.presence === 'expired';
  const change: MachineChange = {
    ...(waits && { presence: { to: 'pending', owner: 'operator' } }),
    ...(machine.service === null && { service: { to: 'bootstrap_issued', owner: 'admin' } }),
  };
  return applyChange(machine, change, { ...by, operationId: null });
}

export function agentRegistered(machine: Machine, at: Date): ChangedMachine {
  const change: MachineChange = {
    presence: { to: 'registered', owner: 'agent' },
    ...(machine.service === 'bootstrap_issued' && { service: { to: 'enrolling', owner: 'onboarding' } }),
  };
  return applyChange(machine, change, byAgent(machine, at));
}

export function agentReady(machine: Machine, at: Date): ChangedMachine {
  const service = serviceOfReadyAgent(machine);
  const change: MachineChange = {
    presence: { to: 'ready', owner: 'agent' },
    ...(service && { service }),
    conditions: [AGENT_CONDITIONS.ready],
  };
  return applyChange(machine, change, byAgent(machine, at));
}

function serviceOfReadyAgent({ service, activeOperationId, conditions }: Machine): ServiceChange | null {
  // An active operation may be checking the machine; when it has ended, the reconciler returns machines with ready agents.
  if (activeOperationId !== null || staysOutOfService(conditions)) return null;
  if (service === 'offline') return { to: 'active', owner: 'heartbeat' };
  // A canceled operation may leave a ready agent, but no one decided to put the machine in service.
  if (service !== 'enrolling' || isTrue(conditions, 'OperationCanceled')) return null;
  return { to: 'active', owner: 'onboarding' };
}

export function agentExpired(machine: Machine, at: Date): ChangedMachine {
  const change: MachineChange = {
    presence: { to: 'expired', owner: 'clock' },
    ...(machine.service === 'active' && { service: { to: 'offline', owner: 'heartbeat' } }),
    // A pending agent has never sent a keepalive, so nothing was lost.
    conditions: machine.presence === 'pending' ? [] : [AGENT_CONDITIONS.lost],
  };
  return applyChange(machine, change, { at, actor: { kind: 'system', id: 'presence' }, operationId: null });
}

function byAgent(machine: Machine, at: Date) {
  return { at, actor: { kind: 'agent', id: machine.machineId }, operationId: null } as const;
}
