/**
 * Why a machine is not in service, what unblocks it and who must act. Pure: it reads only what every role may read of the
 * machine, its last operation and its node. The most important obstacle comes first.
 */
import { type Condition, type ConditionType, isTrue } from '../condition/condition.ts';
import { DRIFT_REASON } from '../condition/drift.ts';
import type { UpstreamView } from '../condition/upstream-view.ts';
import { NOT_EXPECTED } from '../install/boot/boot-admission.ts';
import { BOOT_CONFLICT } from '../install/boot/boot-conflict.ts';
import type { Machine } from '../machine/machine.ts';
import type { MachineAction } from '../machine/machine-action.ts';
import { isMaintenanceOverdue } from '../machine/maintenance.ts';
import { commandFor, nextActionFor } from '../operation/next-action.ts';
import { currentStep, type Operation } from '../operation/operation.ts';
import { isActive } from '../operation/operation-status.ts';
import type { OperatorAction } from '../operation/operator-action.ts';
import { type LastServiceChange, onboarding, seenWords } from './explain-quarantine.ts';
import { OWNED_BY_OPERATION, outOfService } from './explain-service.ts';

export interface Obstacle {
  readonly what: string;
  readonly unblock: string;
  /** operator, admin, site, upstream, or the value nobody, where it resolves without help. */
  readonly who: string;
  /** Without the program's name; empty where no command does it. */
  readonly command: string;
  /** The command for programs: an action on the machine or on the operation. */
  readonly action?: MachineAction | OperatorAction;
  /** The operation that the obstacle is about. */
  readonly operationId?: string;
  /** The parameters of the action that the obstacle determines: pool, service, flag, state, force. */
  readonly params?: Readonly<Record<string, string>>;
}

export interface Explanation {
  readonly inService: boolean;
  readonly summary: string;
  readonly obstacles: readonly Obstacle[];
}

export interface ExplainedMachine {
  readonly machine: Machine;
  /** The active operation, or the one that ended last. */
  readonly operation: Operation | null;
  readonly node: { readonly state: string; readonly lastError: string } | null;
  /** The actor of the last change of its service state, and the reason; null where it is unknown. */
  readonly serviceMover: LastServiceChange | null;
  /** Null where it has no upstream. */
  readonly upstream: UpstreamView | null;
  readonly now: Date;
}

export function explain(subject: ExplainedMachine): Explanation {
  const obstacles = RULES.flatMap((rule) => rule(subject) ?? []);
  const { machineId } = subject.machine;
  const [first] = obstacles;
  if (!first) return { inService: true, summary: `${machineId} is in service${forced(subject)}.`, obstacles };
  return { inService: false, summary: `${machineId} is not in service: ${first.what}.`, obstacles };
}

/** For a machine that an operator put into service although its upstream disagrees. */
function forced({ upstream }: ExplainedMachine): string {
  if (!upstream || upstream.disagreement === '') return '';
  const { accepted, disagreement } = upstream;
  const by = accepted ? `: forced by ${accepted.by} (${accepted.reason})` : '';
  return `, although ${disagreement}${seenWords(upstream)}${by}`;
}

type Rule = (subject: ExplainedMachine) => Obstacle | null;

/** From what blocks everything else to what is only a hint. */
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
  ({ machine, now }) => wrongPhase(machine, now),
  ({ machine }) => {
    const reachable = machine.conditions.Reachable;
    return reachable?.status === false && machine.activeOperationId === null
      ? {
          what: `it can't be reached (${reachable.message || reachable.reason})`,
          unblock: 'check its power, its network and its console',
          who: 'site',
          command: `show ${machine.machineId}`,
        }
      : null;
  },
];

function flagged(
  { conditions }: Machine,
  type: ConditionType,
  obstacle: (condition: Condition) => Obstacle,
): Obstacle | null {
  const condition = conditions[type];
  return condition?.status ? obstacle(condition) : null;
}

function underWay(operation: Operation | null): Obstacle | null {
  if (!operation || !isActive(operation.status)) return null;
  const step = currentStep(operation);
  const waiting = operation.waitingFor === '' ? '' : `, ${operation.waitingFor}`;
  return {
    what: `${called(operation)} is ${operation.status}${step ? ` at ${step.name}` : ''}${waiting}`,
    unblock: 'wait for it, or cancel it',
    who: 'nobody',
    command: `op watch ${operation.operationId}`,
    operationId: operation.operationId,
  };
}

/** With its rollout, if it is part of one. */
function called({ type, operationId, rolloutId }: Operation): string {
  return rolloutId === '' ? `${type} ${operationId}` : `${type} ${operationId} of rollout ${rolloutId}`;
}

function failedOperation({ service, conditions }: Machine, operation: Operation | null): Obstacle | null {
  if (!operation?.status.startsWith('failed')) return null;
  // An operator has cleared it: the operation stays failed forever, and blocks nothing.
  if (!isTrue(conditions, 'NeedsIntervention') && !OWNED_BY_OPERATION.includes(service)) return null;
  const { action, advice, who } = nextActionFor(operation);
  const where = operation.error?.step ? ` at ${operation.error.step}` : '';
  return {
    what: `${called(operation)} failed${where}: ${operation.error?.message ?? 'no reason'}`,
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
  if (reason === BOOT_CONFLICT) return conflictOf(machine, what);
  const command = `clear ${machine.machineId} --reason "…"`;
  return { what, unblock: 'remove the cause, then clear it', who: 'operator', command, action: 'clear' };
}

/** An approval ends the boots of both; a node that waits for none is only cleared. */
function conflictOf({ machineId, install }: Machine, what: string): Obstacle {
  const unblock = 'find out which of the two is this machine, and stop the other one; then';
  if (install === 'pending') {
    const command = `node approve ${machineId}`;
    return { what, unblock: `${unblock} approve it again`, who: 'operator', command, action: 'approve_node' };
  }
  const command = `clear ${machineId} --reason "…"`;
  return { what, unblock: `${unblock} clear it`, who: 'operator', command, action: 'clear' };
}

function notInstalled(node: ExplainedMachine['node'], { machineId, service }: Machine): Obstacle | null {
  // A machine in the service layer is installed by its workflow: one boot from the network does not wait for approval.
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
        unblock: 'fix the cause or choose another workflow, then reset it',
        who: 'admin',
        command: `node state ${machineId} pending --force`,
        action: 'set_install',
        params: { state: 'pending', force: 'true' },
      };
    case 'pending':
      if (node.lastError.startsWith(NOT_EXPECTED)) return outOfWindow(machineId, node.lastError);
      return {
        what: `it waits to boot its installer${node.lastError === '' ? '' : `, and booted from its disk: ${node.lastError}`}`,
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

/** The machine booted when no one expected it to. */
function outOfWindow(machineId: string, lastError: string): Obstacle {
  return {
    what: `it booted from its disk: ${lastError}`,
    unblock: 'approve it again, and boot it from the network',
    who: 'admin',
    command: `node approve ${machineId}`,
    action: 'approve_node',
  };
}

function wrongPhase(machine: Machine, now: Date): Obstacle | null {
  const { machineId, phase, service } = machine;
  if (phase === 'MAINTENANCE') {
    return {
      what: maintenanceText(machine, now),
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

function maintenanceText(machine: Machine, now: Date): string {
  const { until = null, reason = '', by = '' } = machine.maintenance ?? {};
  const order = [by === '' ? '' : ` by ${by}`, reason === '' ? '' : ` (${reason})`].join('');
  if (until === null) return `it is in maintenance${order}`;
  return isMaintenanceOverdue(machine, now)
    ? `it is in maintenance${order}, which was over at ${until}: it is overdue`
    : `it is in maintenance${order} until ${until}`;
}
