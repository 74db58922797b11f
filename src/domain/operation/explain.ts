/**
 * Why a machine is not in service, what unblocks it and who must act, in plain words. Pure: it sees what everybody may
 * see of the machine, its last operation and its node, and says the most important thing first.
 */
import { type Condition, type ConditionType, isCalledOff, isTrue } from '../condition/condition.ts';
import { DRIFT_REASON } from '../condition/drift.ts';
import type { UpstreamView } from '../condition/upstream-view.ts';
import type { Machine } from '../machine/machine.ts';
import type { MachineAction } from '../machine/machine-action.ts';
import type { ServiceState } from '../machine/service-state.ts';
import { onboarding, quarantined, type ServiceMover, seenWords } from './explain-quarantine.ts';
import { commandFor, nextActionFor } from './next-action.ts';
import { currentStep, type Operation } from './operation.ts';
import { isActive } from './operation-status.ts';
import type { OperatorAction } from './operator-action.ts';

export interface Obstacle {
  readonly what: string;
  readonly unblock: string;
  /** operator, admin, site, agent, or nobody: it passes by itself. */
  readonly who: string;
  /** Without the program's name; empty where no command does it. */
  readonly command: string;
  /** The same for programs: what to do about the machine, or about the operation. */
  readonly action?: MachineAction | OperatorAction;
  /** The operation that the obstacle is about. */
  readonly operationId?: string;
  /** What the action needs to know and the obstacle knows: pool, service, flag, state, force. */
  readonly params?: Readonly<Record<string, string>>;
}

export interface Explanation {
  readonly inService: boolean;
  readonly summary: string;
  readonly obstacles: readonly Obstacle[];
}

export interface ExplainedMachine {
  readonly machine: Machine;
  /** The active one, or the last one that ended. */
  readonly operation: Operation | null;
  readonly node: { readonly state: string; readonly lastError: string } | null;
  /** Who moved its service state last, and why; null where nothing is known of that. */
  readonly serviceMover: ServiceMover | null;
  /** Null where it has no upstream. */
  readonly upstream: UpstreamView | null;
}

export function explain(subject: ExplainedMachine): Explanation {
  const obstacles = RULES.flatMap((rule) => rule(subject) ?? []);
  const { machineId } = subject.machine;
  const [first] = obstacles;
  if (!first) return { inService: true, summary: `${machineId} is in service${forced(subject)}.`, obstacles };
  return { inService: false, summary: `${machineId} is not in service: ${first.what}.`, obstacles };
}

/** In service by an operator's word alone. */
function forced({ upstream }: ExplainedMachine): string {
  if (!upstream || upstream.disagreement === '') return '';
  const { accepted, disagreement } = upstream;
  const by = accepted ? `: forced by ${accepted.by} (${accepted.reason})` : '';
  return `, although ${disagreement}${seenWords(upstream)}${by}`;
}

type Rule = (subject: ExplainedMachine) => Obstacle | null;

/** From what blocks everything else to what is only worth a look. */
const RULES: readonly Rule[] = [
  ({ machine }) =>
    flagged(machine, 'Retired', (condition) => ({
      what: `it is retired for good (${condition.message || condition.reason})`,
      unblock: 'nothing does: onboard the hardware again, as a new machine',
      who: 'admin',
      command: '',
    })),
  ({ machine }) =>
    machine.service === 'deleted'
      ? {
          what: 'it was removed from the inventory',
          unblock: 'nothing does: onboard the hardware again, as a new machine',
          who: 'admin',
          command: '',
        }
      : null,
  ({ machine }) =>
    flagged(machine, 'RMA', (condition) => ({
      what: `it is flagged for return (${condition.message || condition.reason})`,
      unblock: 'repair or replace it, then take the flag off',
      who: 'admin',
      command: `unflag ${machine.machineId} rma --reason "…"`,
      action: 'unflag',
      params: { flag: 'RMA' },
    })),
  ({ operation }) => underWay(operation),
  ({ machine, operation }) => failedOperation(machine, operation),
  (subject) =>
    subject.operation?.status.startsWith('failed')
      ? null
      : flagged(subject.machine, 'NeedsIntervention', (condition) => needsIntervention(subject, condition)),
  (subject) => outOfService(subject),
  ({ node, machine }) => notInstalled(node, machine),
  ({ machine }) => wrongPhase(machine),
  ({ machine }) => {
    const reachable = machine.conditions.Reachable;
    return reachable?.status === false && machine.activeOperationId === null
      ? {
          what: `it can’t be reached (${reachable.message || reachable.reason})`,
          unblock: 'look at its power, its network and its console',
          who: 'site',
          command: `show ${machine.machineId}`,
        }
      : null;
  },
];

function flagged(
  { conditions }: Machine,
  type: ConditionType,
  tell: (condition: Condition) => Obstacle,
): Obstacle | null {
  const condition = conditions[type];
  return condition?.status ? tell(condition) : null;
}

function underWay(operation: Operation | null): Obstacle | null {
  if (!operation || !isActive(operation.status)) return null;
  const step = currentStep(operation);
  const waiting = operation.waitingFor === '' ? '' : `, ${operation.waitingFor}`;
  return {
    what: `${operation.type} ${operation.operationId} is ${operation.status}${step ? ` at ${step.name}` : ''}${waiting}`,
    unblock: 'wait for it, or cancel it',
    who: 'nobody',
    command: `op watch ${operation.operationId}`,
    operationId: operation.operationId,
  };
}

/** States in which only the operation that brought the machine there can go on. */
const OWNED_BY_OPERATION: readonly (ServiceState | null)[] = ['enrolling', 'draining', 'removing'];

function failedOperation({ service, conditions }: Machine, operation: Operation | null): Obstacle | null {
  if (!operation?.status.startsWith('failed')) return null;
  // Somebody has looked and cleared it: it stays failed for ever, and is in nobody's way.
  if (!isTrue(conditions, 'NeedsIntervention') && !OWNED_BY_OPERATION.includes(service)) return null;
  const { action, advice, who } = nextActionFor(operation);
  const where = operation.error?.step ? ` at ${operation.error.step}` : '';
  return {
    what: `${operation.type} ${operation.operationId} failed${where}: ${operation.error?.message ?? 'no reason'}`,
    unblock: advice,
    who,
    command: commandFor(operation.operationId, { action }),
    operationId: operation.operationId,
    ...(action && { action }),
  };
}

function needsIntervention(
  { machine, upstream }: ExplainedMachine,
  { reason, message }: Condition,
): Obstacle {
  const what = `an operator must act: ${message || reason}`;
  if (reason === DRIFT_REASON) {
    const unblock = 'correct it in the upstream, which clears this by itself, or onboard the machine again';
    return { what: `${what}${seenWords(upstream)}`, unblock, who: 'upstream', ...onboarding(machine) };
  }
  const command = `clear ${machine.machineId} --reason "…"`;
  return { what, unblock: 'remove the cause, then clear it', who: 'operator', command, action: 'clear' };
}

function outOfService(subject: ExplainedMachine): Obstacle | null {
  const { machine, operation } = subject;
  const { machineId, service, presence, conditions } = machine;
  if (operation && isActive(operation.status)) return null;
  // What the failed operation says is the reason for this, and not another one.
  const isExplained = operation?.status.startsWith('failed') === true;
  const isItsOwn = OWNED_BY_OPERATION.includes(service) || isUnsafeOnboarding(machine, operation);
  if (isExplained && isItsOwn) return null;
  switch (service) {
    case 'bootstrap_issued':
      return presence === 'expired'
        ? {
            what: 'nobody registered it before its token ran out',
            unblock: 'issue another token, and start its agent with it',
            who: 'operator',
            command: `machine create --machine-id ${machineId} --pool ${machine.pool ?? '<pool>'}`,
          }
        : {
            what: 'its agent has not registered yet',
            unblock: 'start its agent with the token that was issued',
            who: 'operator',
            command: '',
          };
    case 'enrolling':
      if (isTrue(machine.conditions, 'OperationCanceled')) return calledOff(machine);
      return {
        what: 'it is not onboarded yet',
        unblock: 'onboard it, or let its agent send keepalives',
        who: 'operator',
        ...onboarding(machine),
      };
    case 'offline':
      if (isCalledOff(conditions)) return calledOff(machine);
      // What keeps it out is said above: its agent is not to blame.
      if (presence === 'ready' && isTrue(conditions, 'NeedsIntervention')) return null;
      if (presence === 'ready') {
        return {
          what: 'its agent reports again, and it is about to be put back into service',
          unblock: 'wait some seconds',
          who: 'nobody',
          command: `show ${machineId}`,
        };
      }
      return {
        what: 'its agent is silent',
        unblock: 'bring the machine or its agent back; its next keepalive puts it back into service',
        who: 'site',
        command: `show ${machineId}`,
      };
    case 'quarantined':
      return quarantined(subject);
    case 'draining':
      return {
        what: 'it is draining, and nothing works on that',
        unblock: 'take the drain up again',
        who: 'operator',
        command: `drain ${machineId}`,
        action: 'drain',
      };
    case 'retired':
      // What failed has left it there, and is said above.
      if (isExplained && isTrue(conditions, 'NeedsIntervention')) return null;
      if (machine.observed && machine.observed.state !== 'Deployed') {
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
    case 'removing':
      return {
        what: 'it is being removed, and nothing works on that',
        unblock: 'take the removal up again',
        who: 'operator',
        command: `remove ${machineId}`,
        action: 'remove',
      };
    default:
      return null;
  }
}

function calledOff(machine: Machine): Obstacle {
  const what = 'its onboarding was canceled';
  return { what, unblock: 'onboard it again', who: 'operator', ...onboarding(machine) };
}

/** Its onboarding put it there, and nobody has answered for that yet: released by hand it would not be deployed. */
function isUnsafeOnboarding({ service, conditions }: Machine, operation: Operation | null): boolean {
  const isFailing = operation?.type === 'ONBOARD' && isTrue(conditions, 'NeedsIntervention');
  return service === 'quarantined' && isFailing;
}

function notInstalled(node: ExplainedMachine['node'], { machineId, service }: Machine): Obstacle | null {
  // Somebody else installs a machine that is in the service layer: what booted once is not waited for.
  if (service !== null && node?.state === 'discovered') return null;
  switch (node?.state) {
    case 'discovered':
      return {
        what: 'it was discovered and waits for approval',
        unblock: 'approve it with a workflow',
        who: 'admin',
        command: `node approve ${machineId} --workflow <name>`,
        action: 'approve_node',
      };
    case 'install_failed':
      return {
        what: `its installation failed: ${node.lastError || 'no reason given'}`,
        unblock: 'put it right or choose another workflow, then reset it',
        who: 'admin',
        command: `node state ${machineId} pending --force`,
        action: 'set_install',
        params: { state: 'pending', force: 'true' },
      };
    case 'pending':
      return {
        what: 'it waits to boot its installer',
        unblock: 'boot it from the network',
        who: 'site',
        command: `reboot ${machineId}`,
        action: 'reboot',
      };
    case 'installed':
      return {
        what: 'it is installed and waits to be verified',
        unblock: 'verify it',
        who: 'admin',
        command: `node state ${machineId} active`,
        action: 'set_install',
        params: { state: 'active' },
      };
    default:
      return null;
  }
}

function wrongPhase({ machineId, phase, service }: Machine): Obstacle | null {
  if (phase === 'MAINTENANCE') {
    return {
      what: 'it is in maintenance',
      unblock: 'end the maintenance',
      who: 'operator',
      command: `exit-maintenance ${machineId}`,
      action: 'exit_maintenance',
    };
  }
  // Agents and workflows bring a machine into service without an operator's phases.
  if (phase === 'FACTORY_READY' && service === null) {
    return {
      what: 'it has never been provisioned',
      unblock: 'put it into maintenance, reimage it, and end the maintenance',
      who: 'operator',
      command: `enter-maintenance ${machineId}`,
      action: 'enter_maintenance',
    };
  }
  return null;
}
