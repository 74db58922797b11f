/** What nodes report: facts, from anyone who knows a MAC address, and installations. */
import { isDeepStrictEqual } from 'node:util';
import type { Actor } from '../../domain/actor.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Erasure } from '../../domain/install/erasure.ts';
import { handsOutToken } from '../../domain/install/install-profile.ts';
import {
  applyReport,
  applyStall,
  type InstallReport,
  type ReportOutcome,
} from '../../domain/install/install-report.ts';
import type { FactName, HardwareFacts, Node } from '../../domain/install/node.ts';
import { networkKey } from '../../domain/limit/address-key.ts';
import type { KeyedRate } from '../../domain/limit/keyed-rate.ts';
import { applyChange } from '../../domain/machine/machine-change.ts';
import type { Session } from '../../store/database/database.ts';
import { type BootToken, findBootToken } from '../../store/nodes/boot-tokens.ts';
import { countDiscovered, type LastEntry, lastInHistory, recentNotes } from '../../store/nodes/node-lists.ts';
import {
  findNodeIdByMac,
  isOperationWanted,
  type LockedNode,
  type NodeChange,
} from '../../store/nodes/nodes.ts';
import { quoted } from '../lenient.ts';
import { knownProfile, profileNameOf } from './install-plan.ts';
import { type ApprovalDependencies, approveByRule } from './node-approval.ts';
import { applyNotes, moveNode, type NodeCause, traceEvent } from './node-changes.ts';
import { FACT_FIELDS, factsOf } from './node-input.ts';
import { fillMacAddresses, keepInventory } from './node-inventory.ts';
import { addNode, changeAndLog, type NodeDependencies } from './nodes.ts';
import type { NodeReport } from './report-input.ts';

export interface ReportDependencies extends ApprovalDependencies {
  /** The limit of machines that wait for approval; others are not added. */
  readonly maxDiscovered: number;
  /** New machines of a network, by its key: room for one more, or the seconds until there is. */
  readonly discoveryRate: KeyedRate;
  readonly logRefused: (entry: Readonly<Record<string, unknown>>, message: string) => void;
}

export interface ReportAnswer {
  readonly node: Node;
  /** Why the report changed no state; null: it was applied, or was not about an installation. */
  readonly ignored: string | null;
  /** Fields that were not stored as sent, with what was done to them. */
  readonly adjusted: NodeReport['adjusted'];
}

/** How a report came in. */
export interface ReportSender {
  /** The boot token that it carries; null: none. */
  readonly token: string | null;
  /** The address of the client. */
  readonly address: string;
}

export async function reportNode(
  dependencies: ReportDependencies,
  report: NodeReport,
  { token, address }: ReportSender,
): Promise<ReportAnswer> {
  const seen = { mac: report.mac_address, facts: factsOf(report), address };
  const id = await nodeOfMac(dependencies, seen);
  const boot = token === null ? null : await findBootToken(dependencies.database, token);
  let ignored: string | null = null;
  let { adjusted } = report;
  const node = await changeAndLog(dependencies, id, async (locked, session) => {
    const facts = withFacts(locked.node, factsOf(report));
    const seen = { ...locked, node: { ...facts, lastSeenAt: dependencies.now() } };
    adjusted = { ...report.adjusted, ...disputes(locked.node, factsOf(report)) };
    const found = await inventoryEvents(dependencies, locked.node, report, boot, session);
    if ('dropped' in found) adjusted = { ...adjusted, inventory: found.dropped };
    const notes = [
      ...(await adjustmentNotes(dependencies, locked.node, { ...report, adjusted }, session)),
      ...('events' in found ? found.events : []),
    ];
    if (report.installation_status === null)
      return { ...seen, events: notes, wakes: migrationOf(locked.node) };
    const { operationId } = locked.node.order;
    const isLive = operationId === null || (await isOperationWanted(session, operationId));
    const wasGiven = await wasGivenToken(dependencies, session, locked.node);
    checkToken(locked.node, boot, { token, wasGiven, isLive });
    const result = recordInstallation(
      dependencies,
      seen,
      {
        status: report.installation_status,
        progress: report.installation_progress ?? null,
        error: report.installation_error ?? '',
        bootNo: boot?.bootNo ?? null,
        purpose: boot?.purpose ?? 'install',
        erased: report.erase ?? null,
      },
      await lastInHistory(session, id),
    );
    ignored = result.ignored;
    // Before the transition, so that the newest entry of the history is the current state.
    return { ...result.change, events: [...notes, ...result.change.events], wakes: operationId };
  });
  if (report.inventory !== undefined) await fillMacAddresses(dependencies, node, report.inventory);
  // An installer that starts unwanted must be refused before it writes a byte.
  if (boot && report.installation_status === 'started' && ignored !== null) throw notWanted(ignored);
  return { node: await afterRules(dependencies, node), ignored, adjusted };
}

async function inventoryEvents(
  dependencies: NodeDependencies,
  node: Node,
  { inventory }: NodeReport,
  boot: BootToken | null,
  session: Session,
): ReturnType<typeof keepInventory> {
  if (inventory === undefined) return { events: [] };
  return keepInventory(session, node, {
    inventory,
    isTrusted: boot?.machineId === node.machineId,
    cause: {
      actor: nodeActor(node.macAddress),
      owner: 'node_report',
      operationId: node.order.operationId,
      now: dependencies.now(),
    },
  });
}

const NOTES_A_DAY = 20;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Records what was cut or dropped: the same at most once a day, and only a limited number. */
async function adjustmentNotes(
  dependencies: NodeDependencies,
  node: Node,
  report: NodeReport,
  session: Session,
): Promise<NewEvent[]> {
  const { adjusted } = report;
  if (Object.keys(adjusted).length === 0) return [];
  const since = new Date(dependencies.now().getTime() - DAY_MS);
  const before = await recentNotes(session, node.machineId, {
    key: 'adjusted',
    since,
    limit: NOTES_A_DAY,
  });
  const isNew = before.every((noted) => !isDeepStrictEqual(noted, adjusted));
  if (!isNew || before.length >= NOTES_A_DAY) return [];
  const entry = traceEvent(node, {
    actor: nodeActor(node.macAddress),
    owner: 'node_report',
    comment: 'parts of a report were not kept as sent',
    metadata: { report: report.installation_status ?? 'facts', adjusted },
    operationId: node.order.operationId,
    now: dependencies.now(),
  });
  return [entry];
}

/** Its facts may match a rule now. */
async function afterRules(dependencies: ReportDependencies, node: Node): Promise<Node> {
  if (node.state !== 'discovered' || dependencies.approvalRules.length === 0) return node;
  return approveByRule(dependencies, node.machineId);
}

/** The operation that waits for the replacement hardware of a machine. */
export function migrationOf({ state, order }: Node): string | null {
  return state === 'migrating' ? order.operationId : null;
}

function notWanted(why: string): Fault {
  return new Fault('BOOT_NOT_WANTED', {
    message: `this boot must not install: ${why}`,
  });
}

/** An unknown machine is added as discovered. */
async function nodeOfMac(dependencies: ReportDependencies, seen: SeenMachine): Promise<string> {
  const node = await discover(dependencies, seen);
  if (typeof node === 'string') return node;
  if (node.retryAfterSeconds !== null) {
    throw new Fault('DISCOVERY_TOO_FAST', {
      message: `too many new machines from ${networkKey(seen.address)}; try again later`,
      metadata: { mac_address: seen.mac, network: networkKey(seen.address) },
      retryAfterSeconds: node.retryAfterSeconds,
    });
  }
  throw new Fault('TOO_MANY_DISCOVERED', {
    message: 'too many machines wait for approval, or several machines claim this MAC address',
    metadata: { mac_address: seen.mac },
  });
}

/** The node of a booting machine, after the approval rules were applied. Null: it cannot be added. */
export async function nodeThatBoots(
  dependencies: ReportDependencies,
  seen: SeenMachine,
): Promise<string | null> {
  const id = await discover(dependencies, seen);
  if (typeof id !== 'string') return null;
  if (dependencies.approvalRules.length > 0) await approveByRule(dependencies, id);
  return id;
}

/** A machine that asks for a boot script or reports. */
export interface SeenMachine {
  readonly mac: string;
  readonly facts: HardwareFacts;
  /** The address of the client. */
  readonly address: string;
}

/** Why a machine is not added; with the seconds after which it may be, or null. */
interface NotAdded {
  readonly retryAfterSeconds: number | null;
}

const NOT_ADDED: NotAdded = { retryAfterSeconds: null };

/** The id of the node with this address, added if there was none. */
async function discover(
  dependencies: ReportDependencies,
  { mac, facts, address }: SeenMachine,
): Promise<string | NotAdded> {
  const known = await findNodeIdByMac(dependencies.database, mac);
  if (known !== null) return known;
  const retryAfterSeconds = dependencies.discoveryRate.take(networkKey(address));
  if (retryAfterSeconds !== null) return { retryAfterSeconds };
  if ((await countDiscovered(dependencies.database)) >= dependencies.maxDiscovered) {
    dependencies.logRefused(
      { mac_address: mac },
      'too many machines wait for approval; this one is not taken in',
    );
    return NOT_ADDED;
  }
  const added = await addNode(
    dependencies,
    { macAddress: mac, facts, profile: '', tags: [] },
    nodeActor(mac),
  );
  if (added) return added.machineId;
  const other = await findNodeIdByMac(dependencies.database, mac);
  if (other !== null) return other;
  dependencies.logRefused({ mac_address: mac }, 'several machines claim this MAC address');
  return NOT_ADDED;
}

function nodeActor(id: string): Actor {
  return { kind: 'node_report', id };
}

/** A host name that is set stays, and so do facts that an operator edited; other facts are replaced by the report. */
export function withFacts(node: Node, reported: HardwareFacts): Node {
  const facts = { ...node.facts };
  for (const key of Object.keys(reported) as FactName[]) {
    if (reported[key] === '' || node.editedFacts.includes(key)) continue;
    if (key === 'hostname' && facts.hostname !== '') continue;
    facts[key] = reported[key];
  }
  return { ...node, facts };
}

/** Edited facts that the machine reports differently. */
function disputes(node: Node, reported: HardwareFacts): Record<string, string> {
  const disputed = node.editedFacts.filter(
    (key) => reported[key] !== '' && reported[key] !== node.facts[key],
  );
  return Object.fromEntries(
    disputed
      .filter((key) => key !== 'hostname')
      .map((key) => [
        FACT_FIELDS[key],
        `an operator set ${quoted(node.facts[key])}, which is kept; the machine says ${quoted(reported[key])}`,
      ]),
  );
}

/** Whether the boots of this installation get a token: only if the command line has it. */
async function wasGivenToken(dependencies: NodeDependencies, session: Session, node: Node): Promise<boolean> {
  if (node.bootsIssued < node.installRecord.firstBootNo) return false;
  if (node.state === 'deprovisioning') return true;
  const profile = await knownProfile(dependencies, session, profileNameOf(node));
  return profile === null || handsOutToken(profile);
}

interface ShownToken {
  readonly token: string | null;
  readonly wasGiven: boolean;
  readonly isLive: boolean;
}

/**
 * A boot that was given a token must send it. Only where none was given for this installation is a report accepted
 * without one: other installers than Ingot's know no tokens.
 */
function checkToken(node: Node, boot: BootToken | null, { token, wasGiven, isLive }: ShownToken): void {
  if (boot === null && token === null && !wasGiven) return;
  if (boot && boot.machineId === node.machineId && isLive && boot.operationId === node.order.operationId)
    return;
  // A token of an earlier installation is not a forgery: the report is late and changes nothing.
  if (boot && boot.machineId === node.machineId && boot.bootNo < node.installRecord.firstBootNo) return;
  throw new Fault('INVALID_BOOT_TOKEN', {
    message:
      token === null
        ? 'this boot was given a token; its reports must carry it'
        : "the boot token is unknown, expired, another machine's, or its operation is over",
  });
}

const REPEAT_AFTER_MS = 60_000;

interface ReportResult {
  readonly change: NodeChange;
  readonly ignored: string | null;
}

function recordInstallation(
  dependencies: NodeDependencies,
  locked: LockedNode,
  report: InstallReport,
  last: LastEntry | null,
): ReportResult {
  const { node } = locked;
  const outcome = applyReport(node.state, node.installRecord, report);
  const cause: NodeCause = {
    actor: nodeActor(node.macAddress),
    owner: 'node_report',
    comment: '',
    metadata: {},
    operationId: node.order.operationId,
    now: dependencies.now(),
  };
  const applied = applyNotes(locked, outcome.notes, outcome.installRecord, cause);
  const erasing = recordErasure(applied, outcome, cause);
  const events = [...applied.events, ...erasing.events];
  if (outcome.ignored !== null) {
    const metadata = { report: report.status, ignored: outcome.ignored };
    if (!isRepetition(last, metadata, dependencies.now()))
      events.push(traceEvent(applied.node, { ...cause, metadata }));
  }
  const change: NodeChange = { ...applied, ...erasing, events, reported: true };
  return { change: promoted(dependencies, change, cause), ignored: outcome.ignored };
}

/** The evidence is stored with the node; once an erasure has started, the data on the disks counts as lost. */
function recordErasure(
  { machine, node }: Pick<NodeChange, 'machine' | 'node'>,
  { notes, ignored, state }: ReportOutcome,
  { now: at, actor, operationId }: NodeCause,
): Pick<NodeChange, 'machine' | 'node' | 'events'> {
  const isErasing = state === 'deprovisioning' || notes.some(({ from }) => from === 'deprovisioning');
  if (!isErasing || ignored !== null) return { machine, node, events: [] };
  const evidence = notes.map(({ metadata }) => metadata.erase as EraseNote | undefined).find(Boolean);
  const message = 'its disks are being erased, or are';
  const conditions = (['Provisioned', 'InCustomerCluster'] as const).map((type) => ({
    type,
    status: false,
    reason: 'Erased',
    message,
  }));
  const changed = applyChange(machine, { conditions }, { at, actor, operationId });
  const erasure = evidence ? { ...evidence, at: at.toISOString(), operation_id: operationId } : node.erasure;
  return { machine: changed.machine, events: changed.events, node: { ...node, erasure } };
}

type EraseNote = Omit<Erasure, 'at' | 'operation_id'>;

/** A report that does not fit is recorded once, however often it is repeated. */
function isRepetition(
  last: LastEntry | null,
  metadata: Readonly<Record<string, unknown>>,
  now: Date,
): boolean {
  return (
    last !== null &&
    last.metadata.report === metadata.report &&
    last.metadata.ignored === metadata.ignored &&
    now.getTime() - last.at.getTime() < REPEAT_AFTER_MS
  );
}

/** Promotes a completed installation without a person, where the configuration says so for the group. */
function promoted(dependencies: NodeDependencies, change: NodeChange, cause: NodeCause): NodeChange {
  const justInstalled = change.events.some(
    ({ kind, to, from }) => kind === 'install' && to === 'installed' && from !== to,
  );
  if (!justInstalled || !dependencies.promotesItself(change.machine)) return change;
  const moved = moveNode(change, 'active', {
    ...cause,
    actor: { kind: 'system', id: 'auto-promotion' },
    owner: 'system',
    comment: 'its group is promoted without verification',
  });
  return { ...change, ...moved, events: [...change.events, ...moved.events] };
}

/** No report came for too long: the attempt failed. */
export async function stallNode(dependencies: NodeDependencies, id: string, seconds: number): Promise<Node> {
  return changeAndLog(dependencies, id, (locked) => {
    const { node } = locked;
    const outcome = applyStall(node.state, node.installRecord, seconds);
    if (outcome.ignored !== null) return null;
    const applied = applyNotes(locked, outcome.notes, outcome.installRecord, {
      actor: { kind: 'system', id: 'install-watch' },
      owner: 'system',
      comment: '',
      metadata: {},
      operationId: node.order.operationId,
      now: dependencies.now(),
    });
    return { ...applied, reported: true, wakes: node.order.operationId };
  });
}
