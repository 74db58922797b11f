/**
 * Moves the identity of a machine to other hardware. Everything that identifies it changes in one transaction with
 * the state and its events, so that readers see the old hardware or the new one, never a mix. A discovered node with
 * an address of the replacement is the replacement: it is merged and retired, and both histories name the other.
 */
import { parseScope, type Scope } from '../../domain/access/scope.ts';
import type { InstallState } from '../../domain/install/install-state.ts';
import type { HardwareFacts, Node } from '../../domain/install/node.ts';
import type { MachineSpec } from '../../domain/machine/machine.ts';
import { canBeReplacement } from '../../domain/machine/replacement.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { operationOf } from '../../providers/provider.ts';
import type { HardwareMoves, HardwareView } from '../../steps/hardware/hardware-moves.ts';
import type { Session } from '../../store/database/database.ts';
import { type HardwareHolder, hardwareHolders } from '../../store/machines/machine-hardware.ts';
import { lockMachines, writeMachines } from '../../store/machines/machine-rows.ts';
import { findMachine } from '../../store/machines/machines.ts';
import { forgetBootTokens } from '../../store/nodes/boot-tokens.ts';
import {
  findNode,
  followSpecMacs,
  type LockedNode,
  lockNode,
  writeNodeChange,
} from '../../store/nodes/nodes.ts';
import { moveNode, type NodeCause, traceEvent } from './node-changes.ts';
import { changeAndLog, logTransitions, type NodeDependencies } from './nodes.ts';

/** What identifies the machine from now on. */
interface Target {
  readonly macAddresses: readonly string[];
  readonly bmcEndpoint: string;
  /** Null: the addresses of the discovered node, or none yet. */
  readonly known: Pick<HardwareView, 'facts' | 'editedFacts' | 'seenAt'> | null;
  readonly to: InstallState;
  readonly comment: string;
  /** No node outside of it is taken in. */
  readonly scope: Scope | null;
}

const MIGRATABLE: readonly InstallState[] = ['active', 'migrating'];

export function createHardwareMoves(dependencies: NodeDependencies): HardwareMoves {
  const { database } = dependencies;
  return {
    async read({ machine: { machineId } }) {
      const node = await findNode(database, machineId);
      const machine = await findMachine(database, machineId);
      return node && machine ? viewOf(node, machine.spec) : null;
    },
    async replace(call, replacement) {
      await move(dependencies, call.machine.machineId, operationOf(call), (view) => ({
        macAddresses: replacement.mac_addresses,
        bmcEndpoint: replacement.bmc_endpoint === '' ? view.bmcEndpoint : replacement.bmc_endpoint,
        known: null,
        to: 'migrating',
        comment: `hardware is replaced by ${replacement.mac_addresses.join(', ')}`,
        scope: parseScope(replacement.scope),
      }));
    },
    async restore(call, before) {
      await move(dependencies, call.machine.machineId, operationOf(call), () => ({
        macAddresses: before.macAddresses,
        bmcEndpoint: before.bmcEndpoint,
        known: before,
        to: before.state,
        comment: 'the replacement was given up: it is the old hardware again',
        scope: null,
      }));
    },
    async finish(call) {
      const operationId = operationOf(call);
      await changeAndLog(dependencies, call.machine.machineId, (locked) => {
        const { machine, node } = locked;
        if (node.state !== 'migrating') return null;
        const hardware = hardwareOf(viewOf(node, machine.spec));
        const comment = `it is on ${node.macAddress} now${node.facts.serialNumber === '' ? '' : `, serial ${node.facts.serialNumber}`}`;
        const moved = moveNode(locked, 'active', causeOf(dependencies, operationId, comment, { hardware }));
        return { ...moved, node: { ...moved.node, order: { ...moved.node.order, operationId: null } } };
      });
    },
  };
}

function viewOf(node: Node, spec: MachineSpec): HardwareView {
  return {
    state: node.state,
    macAddresses: spec.mac_addresses.length > 0 ? spec.mac_addresses : [node.macAddress],
    bmcEndpoint: spec.bmc_endpoint,
    facts: node.facts,
    editedFacts: node.editedFacts,
    seenAt: node.lastSeenAt?.toISOString() ?? null,
  };
}

/** For the history. */
function hardwareOf({ macAddresses, bmcEndpoint, facts }: HardwareView) {
  return {
    mac_addresses: macAddresses,
    serial_number: facts.serialNumber,
    system_uuid: facts.systemUuid,
    vendor: facts.vendor,
    model: facts.model,
    bmc_endpoint: bmcEndpoint,
  };
}

async function move(
  dependencies: NodeDependencies,
  machineId: string,
  operationId: string,
  targetOf: (view: HardwareView) => Target,
): Promise<void> {
  const events = await dependencies.database.transaction(async (session) => {
    const holders = await lockHolders(session, machineId, targetOf);
    const locked = await lockNode(session, machineId);
    if (!locked) throw notMigratable('no node');
    if (!MIGRATABLE.includes(locked.node.state)) throw notMigratable(locked.node.state);
    const before = viewOf(locked.node, locked.machine.spec);
    const target = targetOf(before);
    const takenIn: LockedNode[] = [];
    for (const holder of await holdersOf(session, locked, target)) {
      if (!holders.has(holder.machineId)) throw taken(holder);
      takenIn.push(
        await takeIn(dependencies, session, holder, { machineId, operationId, scope: target.scope }),
      );
    }
    const change = moved(dependencies, locked, target, takenIn, operationId);
    await forgetBootTokens(session, [machineId, ...takenIn.map(({ machine }) => machine.machineId)]);
    await writeNodeChange(session, locked, change);
    await followSpecMacs(session, change.machine);
    return change.events;
  });
  logTransitions(dependencies, machineId, events);
}

/**
 * Locks all machines at once, in the order of their ids: the holders of the addresses are read before and again
 * after.
 */
async function lockHolders(
  session: Session,
  machineId: string,
  targetOf: (view: HardwareView) => Target,
): Promise<ReadonlySet<string>> {
  const node = await findNode(session, machineId);
  const machine = await findMachine(session, machineId);
  if (!node || !machine) throw notMigratable('no node');
  const holders = await holdersOf(session, { node, machine }, targetOf(viewOf(node, machine.spec)));
  const ids = holders.map((holder) => holder.machineId);
  await lockMachines(session, [machineId, ...ids]);
  return new Set(ids);
}

function holdersOf(session: Session, { machine }: LockedNode, target: Target) {
  return hardwareHolders(session, { machineId: machine.machineId, spec: specOf(machine.spec, target) });
}

function specOf(spec: MachineSpec, { macAddresses, bmcEndpoint }: Target): MachineSpec {
  return { ...spec, mac_addresses: macAddresses, bmc_endpoint: bmcEndpoint };
}

/** Only a discovered node that no one has used is merged; it gives up its addresses. */
async function takeIn(
  dependencies: NodeDependencies,
  session: Session,
  holder: HardwareHolder,
  by: { readonly machineId: string; readonly operationId: string; readonly scope: Scope | null },
): Promise<LockedNode> {
  const locked = await lockNode(session, holder.machineId);
  if (!locked || !canBeReplacement(locked.machine)) throw taken(holder);
  // The start checked it; what was free then may be another tenant's now.
  if (by.scope !== null && !by.scope.contains(locked.machine)) throw taken(holder);
  const comment = `it is the replacement hardware of ${by.machineId}, which took it in`;
  const cause = causeOf(dependencies, by.operationId, comment, { taken_in_by: by.machineId });
  const retired = moveNode(locked, 'retired', cause);
  const spec = { ...retired.machine.spec, mac_addresses: [], bmc_endpoint: '', ssh_endpoint: '' };
  await writeMachines(session, [{ ...retired.machine, spec }], retired.events);
  logTransitions(dependencies, holder.machineId, retired.events);
  return locked;
}

const UNKNOWN: Pick<HardwareFacts, 'serialNumber' | 'systemUuid' | 'vendor' | 'model' | 'ipAddress'> = {
  serialNumber: '',
  systemUuid: '',
  vendor: '',
  model: '',
  ipAddress: '',
};

function moved(
  dependencies: NodeDependencies,
  locked: LockedNode,
  target: Target,
  takenIn: readonly LockedNode[],
  operationId: string,
) {
  const { machine, node } = locked;
  const spec = specOf(machine.spec, target);
  const known = target.known ?? knownOf(node, takenIn);
  const metadata = {
    old: hardwareOf(viewOf(node, machine.spec)),
    new: hardwareOf({ ...viewOf(node, spec), macAddresses: target.macAddresses, facts: known.facts }),
    ...(takenIn.length > 0 && { taken_in: takenIn.map((other) => other.machine.machineId) }),
  };
  const cause = causeOf(dependencies, operationId, target.comment, metadata);
  const step =
    node.state === target.to
      ? { machine, node, events: [traceEvent(node, cause)] }
      : moveNode(locked, target.to, cause);
  return {
    machine: { ...step.machine, spec },
    events: step.events,
    node: {
      ...step.node,
      facts: known.facts,
      editedFacts: known.editedFacts,
      lastSeenAt: known.seenAt === null ? null : new Date(known.seenAt),
      macAddress: target.macAddresses[0] ?? node.macAddress,
      // Every report of the hardware wakes the operation that waits for it.
      order: { ...step.node.order, operationId: target.to === 'migrating' ? operationId : null },
    },
  };
}

/** Names that a person gave stay with the identity; the rest comes from the hardware. */
function knownOf(node: Node, takenIn: readonly LockedNode[]): NonNullable<Target['known']> {
  const [seen] = takenIn.map((other) => other.node).filter(({ lastSeenAt }) => lastSeenAt !== null);
  const { hostname, arch, bootMode } = node.facts;
  const facts = seen
    ? { ...seen.facts, hostname: hostname === '' ? seen.facts.hostname : hostname }
    : { ...node.facts, ...UNKNOWN, hostname, arch, bootMode };
  const editedFacts = node.editedFacts.filter((name) => name === 'hostname');
  return { facts, editedFacts, seenAt: seen?.lastSeenAt?.toISOString() ?? null };
}

function causeOf(
  dependencies: NodeDependencies,
  operationId: string,
  comment: string,
  metadata: Readonly<Record<string, unknown>>,
): NodeCause {
  return {
    actor: { kind: 'system', id: 'operation' },
    owner: 'system',
    comment,
    metadata: { ...metadata, operation_id: operationId },
    operationId,
    now: dependencies.now(),
  };
}

/** Without the name of the other machine, which may be another tenant's: readers of this operation must not see it. */
function taken({ hardware }: HardwareHolder): StepFailure {
  const message = `another machine has the ${hardware} by now, and no two machines share one; change that machine, or migrate to other hardware`;
  return new StepFailure({ class: 'permanent', code: 'MAC_TAKEN', message });
}

function notMigratable(state: string): StepFailure {
  const message = `the node is ${state}, and a migration starts from ${MIGRATABLE.join(' or ')}`;
  return new StepFailure({ class: 'needs_human', code: 'WRONG_INSTALL_STATE', message });
}
