/** Nodes as admins manage them: register, edit, move through the install lifecycle, retire. */
import type { Scope } from '../../domain/access/scope.ts';
import type { Actor, Origin } from '../../domain/actor.ts';
import { inAnyCase } from '../../domain/any-case.ts';
import { isTrue } from '../../domain/condition/condition.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import { isExpected } from '../../domain/install/boot/boot-admission.ts';
import { type InstallState, installLifecycle } from '../../domain/install/install-state.ts';
import {
  GROUP_LABEL,
  type HardwareFacts,
  MAX_INSTALL_ATTEMPTS,
  type Node,
} from '../../domain/install/node.ts';
import { nextStates } from '../../domain/lifecycle/lifecycle.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { applyChange } from '../../domain/machine/machine-change.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Database, Session } from '../../store/database/database.ts';
import { changeEvent } from '../../store/events/record-change.ts';
import { isHardwareTaken } from '../../store/machines/machine-hardware.ts';
import { lockMachineIn, writeMachines } from '../../store/machines/machine-rows.ts';
import { insertMachine } from '../../store/machines/register-machines.ts';
import {
  changeNode,
  findNode,
  findNodeIdByMac,
  findNodeIn,
  insertNode,
  isOperationWanted,
  type LockedNode,
  machinesWithMac,
  type NodeChange,
} from '../../store/nodes/nodes.ts';
import { bareMachine, machineChanges, machineEvent } from '../machines/inventory.ts';
import { checkApproval, checkMayPend, type InstallPlanDependencies, knownProfile } from './install-plan.ts';
import { judgeConflict, moveNode, type NodeCause, traceEvent } from './node-changes.ts';
import {
  EDITABLE_FACTS,
  FACT_DEFAULTS,
  FACT_FIELDS,
  factsOf,
  MAX_TAGS,
  type NodeInput,
  type NodePatch,
  type StateChange,
} from './node-input.ts';

export interface NodeDependencies extends InstallPlanDependencies {
  readonly database: Database;
  readonly providers: ReadonlyMap<string, Provider>;
  /** The provider of machines that were unknown before. */
  readonly nodeProvider: string;
  readonly newMachineId: () => string;
  /** Of the caller; null for machines and for the server itself. A node that is not in it does not exist. */
  readonly scope: Scope | null;
  /** How long after an approval, a power cycle or a report a boot is expected. */
  readonly bootWindowSeconds: number;
  readonly now: () => Date;
  /** The call of a machine that reports; not set where an operator or the server acts. */
  readonly origin?: Origin;
  readonly logTransition: (entry: Readonly<Record<string, unknown>>) => void;
  /** Whether an installation of the machine needs no admin to verify it. */
  readonly promotesItself: (machine: Machine) => boolean;
}

export interface NodeToAdd {
  readonly macAddress: string;
  readonly facts: HardwareFacts;
  readonly profile: string;
  readonly tags: readonly string[];
  /** Empty: the label of the machine. */
  readonly group?: string;
}

function nodeNotFound(id: string): Fault {
  return new Fault('NODE_NOT_FOUND', {
    message: 'Node not found',
    metadata: { id: id.slice(0, 128) },
  });
}

export async function createNode(
  dependencies: NodeDependencies,
  input: NodeInput,
  actor: Actor,
): Promise<Node> {
  const { scope } = dependencies;
  await checkProfile(dependencies, dependencies.database, input.workflow ?? '');
  const node = await addNode(
    dependencies,
    {
      macAddress: input.mac_address,
      facts: factsOf(input),
      profile: input.workflow ?? '',
      tags: input.tags ?? [],
      group: input.group ?? '',
    },
    actor,
  );
  if (node) return node;
  const holderId = await findNodeIdByMac(dependencies.database, input.mac_address);
  const holder = holderId === null ? null : await findNodeIn(dependencies.database, holderId, scope);
  if (!holder && scope !== null) throw nodeOutOfScope(input.mac_address, scope);
  throw macTaken(input.mac_address, holder);
}

/** The same whether the machine would be outside of the scope, or another tenant has the address. */
function nodeOutOfScope(mac: string, scope: Scope): Fault {
  return new Fault('OUT_OF_SCOPE', {
    message: `a node with the MAC ${mac} must be a machine inside the scope ${scope.text}, and its address must be free in it`,
    metadata: { mac_address: mac, scope: scope.text },
  });
}

/** With a scope, a node is given a workflow only that its caller may read. */
async function checkProfile(dependencies: NodeDependencies, session: Session, name: string): Promise<void> {
  const { scope } = dependencies;
  if (scope === null || name === '' || (await knownProfile(dependencies, session, name, scope))) return;
  throw invalidField('workflow', `there is no workflow ${JSON.stringify(name.slice(0, 80))}`);
}

function macTaken(mac: string, holder: Node | null): Fault {
  const retired =
    holder?.state === 'retired' ? `: it is machine ${holder.machineId}, which is retired for good` : '';
  return new Fault('MAC_TAKEN', {
    message: `Node with MAC ${mac} already exists${retired}`,
    metadata: { mac_address: mac, ...(holder && { machine_id: holder.machineId }) },
  });
}

/**
 * The machine whose spec has the address becomes the node; without one, a machine is added. Null: another node has
 * the address, or several machines claim it.
 */
export async function addNode(
  dependencies: NodeDependencies,
  adding: NodeToAdd,
  actor: Actor,
): Promise<Node | null> {
  try {
    return await insertNewNode(dependencies, adding, actor);
  } catch (error) {
    if (!isHardwareTaken(error)) throw error;
    // A concurrent call added a machine with this address: it is the node, or becomes it.
    return insertNewNode(dependencies, adding, actor);
  }
}

function insertNewNode(
  dependencies: NodeDependencies,
  adding: NodeToAdd,
  actor: Actor,
): Promise<Node | null> {
  return dependencies.database.transaction(async (session) => {
    const { macAddress } = adding;
    if ((await findNodeIdByMac(session, macAddress)) !== null) return null;
    const known = await machinesWithMac(session, macAddress);
    if (known.length > 1) return null;
    const machine = await enter(dependencies, session, known[0] ?? null, macAddress, actor);
    if (!machine || !(await insertNode(session, { ...adding, machineId: machine.machineId }))) return null;
    const changed = applyChange(
      adding.group ? inGroup(machine, adding.group) : machine,
      { install: { to: installLifecycle.initial, owner: 'admin', metadata: { mac_address: macAddress } } },
      { at: dependencies.now(), actor, operationId: null },
    );
    const { scope } = dependencies;
    if (scope !== null && !scope.contains(changed.machine)) throw nodeOutOfScope(macAddress, scope);
    await writeMachines(session, [changed.machine], changed.events);
    return findNode(session, machine.machineId);
  });
}

/** Null: the machine was removed, or is a node already. */
async function enter(
  dependencies: NodeDependencies,
  session: Session,
  knownId: string | null,
  macAddress: string,
  actor: Actor,
): Promise<Machine | null> {
  if (knownId !== null) {
    const machine = await lockMachineIn(session, knownId, dependencies.scope);
    return machine?.install === null ? machine : null;
  }
  const machineId = dependencies.newMachineId();
  const bare = bareMachine(dependencies, machineId, dependencies.nodeProvider);
  const input = { ...bare, spec: { ...bare.spec, mac_addresses: [macAddress] } };
  return insertMachine(session, input, machineEvent(machineId, '', 'registered', actor));
}

export async function getNode(dependencies: NodeDependencies, id: string): Promise<Node> {
  const node = await findNodeIn(dependencies.database, id, dependencies.scope);
  if (!node) throw nodeNotFound(id);
  return node;
}

/** Changes a node and logs every transition. */
export async function changeAndLog(
  dependencies: NodeDependencies,
  id: string,
  decide: (locked: LockedNode, session: Session) => Promise<NodeChange | null> | NodeChange | null,
): Promise<Node> {
  let events: NodeChange['events'] = [];
  const { scope } = dependencies;
  const node = await changeNode(dependencies.database, { machineId: id, scope }, async (locked, session) => {
    const change = await decide(locked, session);
    const profile = change?.node.profile ?? '';
    if (profile !== locked.node.profile) await checkProfile(dependencies, session, profile);
    events = change?.events ?? [];
    return change;
  });
  if (!node) throw nodeNotFound(id);
  logTransitions(dependencies, id, events);
  return node;
}

export function logTransitions(
  dependencies: Pick<NodeDependencies, 'logTransition'>,
  id: string,
  events: NodeChange['events'],
): void {
  for (const event of events) {
    if (event.kind !== 'install') continue;
    dependencies.logTransition({
      node_id: id,
      from_state: event.from,
      to_state: event.to,
      triggered_by: event.actor.kind,
      user_id: event.actor.id,
      comment: event.comment,
      ...event.metadata,
    });
  }
}

export async function patchNode(
  dependencies: NodeDependencies,
  id: string,
  patch: NodePatch,
  actor: Actor,
): Promise<Node> {
  return changeAndLog(dependencies, id, ({ machine, node }) => {
    const labelled = patch.group === undefined ? machine : inGroup(machine, patch.group ?? '');
    const relabelled =
      labelled === machine
        ? []
        : [machineEvent(id, 'registered', 'updated', actor, machineChanges(machine, labelled))];
    const patched = {
      ...node,
      ...editedFacts(node, patch),
      profile: patch.workflow === undefined ? node.profile : (patch.workflow ?? ''),
      tags: patch.tags === undefined ? node.tags : (patch.tags ?? []),
      notes: patch.notes === undefined ? node.notes : (patch.notes ?? ''),
    };
    return {
      machine: labelled,
      events: [...relabelled, ...editEvents(node, patched, actor)],
      node: patched,
    };
  });
}

/** One event with the fields that an operator edited; none, when they are as they were. */
function editEvents(before: Node, after: Node, actor: Actor): NewEvent[] {
  const { machineId } = before;
  const fields = ({ facts, profile, tags, notes }: Node) => ({ ...facts, workflow: profile, tags, notes });
  const event = changeEvent({
    kind: 'node',
    subject: machineId,
    to: 'updated',
    actor,
    machineId,
    before: fields(before),
    after: fields(after),
  });
  return event.changes?.length === 0 ? [] : [event];
}

/** A group is a label of the machine, so that filters over machines can use it. */
function inGroup(machine: Machine, group: string): Machine {
  const { [GROUP_LABEL]: before = '', ...others } = machine.labels;
  if (before === group) return machine;
  return { ...machine, labels: group === '' ? others : { ...others, [GROUP_LABEL]: group } };
}

/** A fact that an operator sets is kept; a cleared one is reported by the machine again. */
function editedFacts(node: Node, patch: NodePatch): Pick<Node, 'facts' | 'editedFacts'> {
  const facts = { ...node.facts };
  const edited = new Set(node.editedFacts);
  for (const name of EDITABLE_FACTS) {
    const value = patch[FACT_FIELDS[name]];
    if (value === undefined) continue;
    facts[name] = value || FACT_DEFAULTS[name];
    if (value) edited.add(name);
    else edited.delete(name);
  }
  return { facts, editedFacts: [...edited] };
}

export interface TagChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export async function tagNode(
  dependencies: NodeDependencies,
  id: string,
  { add, remove }: TagChange,
  actor: Actor,
): Promise<Node> {
  return changeAndLog(dependencies, id, ({ machine, node }) => {
    const others = node.tags.filter((known) => !add.includes(known) && !remove.includes(known));
    const tags = [...others, ...add];
    if (tags.length > MAX_TAGS) throw invalidField('tags', `a node has at most ${MAX_TAGS}`);
    const tagged = { ...node, tags };
    return { machine, events: editEvents(node, tagged, actor), node: tagged };
  });
}

export async function setNodeState(
  dependencies: NodeDependencies,
  id: string,
  change: StateChange,
  actor: Actor,
): Promise<Node> {
  return changeAndLog(dependencies, id, (locked, session) =>
    movedByAdmin(dependencies, session, locked, change, actor),
  );
}

export async function movedByAdmin(
  dependencies: NodeDependencies,
  session: Session,
  locked: LockedNode,
  change: StateChange,
  actor: Actor,
): Promise<NodeChange> {
  const { comment, force } = change;
  const { node } = locked;
  if (force && isToEraseAgain(dependencies, node, change.state))
    return erasedAgain(dependencies, session, locked, change, actor);
  const to = checkStep(node, change.state);
  if (change.overwrite != null && to !== 'deprovisioning')
    throw invalidField('overwrite', 'is for the state deprovisioning');
  if (to === 'pending' && node.installRecord.attempts >= MAX_INSTALL_ATTEMPTS && !force)
    throw overTheLimit(node);
  if (to === 'pending') {
    checkNotRetired(locked.machine);
    await checkMayPend(dependencies, session, node);
  }
  const cause = adminCause(dependencies, actor, comment ?? '', force);
  const moved = moveNode(locked, to, cause);
  const judged =
    to === 'pending' ? judgeConflict(moved.machine, cause) : { machine: moved.machine, events: [] };
  const reset = force || to === 'installed' || to === 'active';
  const installRecord = reset
    ? { ...moved.node.installRecord, attempts: 0, lastError: '' }
    : moved.node.installRecord;
  const order = { ...moved.node.order, overwrite: change.overwrite ?? moved.node.order.overwrite };
  return {
    machine: judged.machine,
    node: { ...moved.node, installRecord, order },
    events: [...moved.events, ...judged.events],
    wakes: node.order.operationId,
  };
}

/** Whether the node may wait for an installation. */
export async function checkMayInstall(
  dependencies: NodeDependencies,
  session: Session,
  { machine, node }: LockedNode,
): Promise<void> {
  checkNotRetired(machine);
  await checkApproval(dependencies, session, node);
}

/** An erasure that failed too often, or whose boot is not expected any more. */
function isToEraseAgain({ bootWindowSeconds, now }: NodeDependencies, node: Node, to: string): boolean {
  if (node.state !== 'deprovisioning' || inAnyCase(['deprovisioning'], to) === undefined) return false;
  if (node.installRecord.attempts >= MAX_INSTALL_ATTEMPTS) return true;
  return !isExpected(node, { windowSeconds: bootWindowSeconds }, now());
}

/** An erasure has no transition to restart it: with force, its counter is reset, and its boot is expected again. */
async function erasedAgain(
  dependencies: NodeDependencies,
  session: Session,
  { machine, node }: LockedNode,
  { comment, overwrite }: StateChange,
  actor: Actor,
): Promise<NodeChange> {
  const cause = adminCause(dependencies, actor, comment ?? '', true);
  const { operationId, key } = node.order;
  // The order of an operation that has ended becomes the admin's.
  const isWanted = operationId !== null && (await isOperationWanted(session, operationId));
  const owner = isWanted ? { operationId, key } : { operationId: null, key: '' };
  return {
    machine,
    events: [traceEvent(node, cause)],
    node: {
      ...node,
      installRecord: { ...node.installRecord, attempts: 0, lastError: '', progress: null },
      order: { ...node.order, ...owner, overwrite: overwrite ?? node.order.overwrite, wantedAt: cause.now },
    },
    wakes: operationId,
  };
}

export async function retireNode(dependencies: NodeDependencies, id: string, actor: Actor): Promise<Node> {
  return changeAndLog(dependencies, id, (locked) => {
    if (locked.node.state === 'retired') return null;
    checkStep(locked.node, 'retired');
    return {
      ...moveNode(locked, 'retired', adminCause(dependencies, actor, '', false)),
      wakes: locked.node.order.operationId,
    };
  });
}

export function adminCause(
  dependencies: NodeDependencies,
  actor: Actor,
  comment: string,
  force: boolean,
): NodeCause {
  return {
    actor,
    owner: 'admin',
    comment,
    metadata: force ? { force: true } : {},
    operationId: null,
    now: dependencies.now(),
  };
}

function checkStep(node: Node, to: string): InstallState {
  const valid = nextStates(installLifecycle, node.state);
  const known = inAnyCase(valid, to);
  if (known) return known;
  const list = valid.map((state) => `'${state}'`).join(', ');
  throw new Fault('ILLEGAL_TRANSITION', {
    message: `Invalid state transition from '${node.state}' to '${to.slice(0, 64)}'. Valid transitions: [${list}]`,
    metadata: { from: node.state, to: to.slice(0, 64) },
    violations: [
      { subject: 'install', description: `${node.state} → ${to.slice(0, 64)} is not a transition` },
    ],
  });
}

/** A machine that is flagged Retired is never installed. */
function checkNotRetired(machine: Machine): void {
  if (!isTrue(machine.conditions, 'Retired')) return;
  throw new Fault('MACHINE_BLOCKED', {
    message: `${machine.machineId} is flagged Retired: nothing is installed on it`,
    metadata: { machine_id: machine.machineId, flag: 'Retired' },
    violations: [{ subject: `machines/${machine.machineId}`, description: 'is flagged Retired' }],
  });
}

function overTheLimit(node: Node): Fault {
  return new Fault('INSTALL_ATTEMPTS_EXHAUSTED', {
    message: `Installation failed ${node.installRecord.attempts} of ${MAX_INSTALL_ATTEMPTS} times (${node.installRecord.lastError}). Assign another workflow, then use force: true to reset the counter`,
    metadata: { attempts: String(node.installRecord.attempts) },
    violations: [{ subject: 'install_attempts', description: 'the limit is reached; use force' }],
  });
}
