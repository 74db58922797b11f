/** What nodes report: facts, from anyone who knows a MAC address, and installations, from the boot that has the token. */
import { isDeepStrictEqual } from 'node:util';
import type { Actor, Origin } from '../../../domain/actor.ts';
import { Fault } from '../../../domain/error/fault.ts';
import type { NewEvent } from '../../../domain/event.ts';
import { bootConflict } from '../../../domain/install/boot/boot-conflict.ts';
import type { Erasure } from '../../../domain/install/erasure.ts';
import {
  applyReport,
  applyStall,
  type InstallReport,
  type ReportOutcome,
} from '../../../domain/install/install-report.ts';
import type { Node } from '../../../domain/install/node.ts';
import { applyChange } from '../../../domain/machine/machine-change.ts';
import type { Session } from '../../../store/database/database.ts';
import { bootReported, endLaterBoots } from '../../../store/nodes/boot-tokens.ts';
import { type LastEntry, lastInHistory, recentNotes } from '../../../store/nodes/node-lists.ts';
import type { LockedNode, NodeChange } from '../../../store/nodes/nodes.ts';
import { type DiscoveryDependencies, nodeThatReports } from '../boot/discovery.ts';
import { approveByRule } from '../node-approval.ts';
import { applyNotes, moveNode, type NodeCause, traceEvent } from '../node-changes.ts';
import { factsOf } from '../node-input.ts';
import { changeAndLog, type NodeDependencies } from '../nodes.ts';
import { keptFacts, withFacts } from './node-facts.ts';
import { fillMacAddresses, type InventoryRights, judgeReported, keepInventory } from './node-inventory.ts';
import {
  type Contradiction,
  contradicting,
  contradictionOf,
  findReporter,
  isOwnBoot,
  type ReportAdmissionDependencies,
  type Reporter,
  unproven,
} from './report-admission.ts';
import type { NodeReport } from './report-input.ts';

export interface ReportDependencies extends DiscoveryDependencies, ReportAdmissionDependencies {}

export interface ReportAnswer {
  readonly node: Node;
  /** Why the report changed no state; null: it was applied, or was not about an installation. */
  readonly ignored: string | null;
  /** Fields that were not stored as sent, with what was done to them. */
  readonly adjusted: NodeReport['adjusted'];
}

/** Who sends the report. */
export interface ReportSender {
  readonly token: string | null;
  readonly address: string;
}

export async function reportNode(
  dependencies: ReportDependencies,
  report: NodeReport,
  { token, address }: ReportSender,
): Promise<ReportAnswer> {
  const { id, isNew } = await nodeThatReports(dependencies, {
    mac: report.mac_address,
    address,
    facts: factsOf(report),
  });
  const reporter = await findReporter(dependencies.database, token, address);
  let ignored: string | null = null;
  let contradiction: Contradiction | null = null;
  let { adjusted } = report;
  const node = await changeAndLog(dependencies, id, async (locked, session) => {
    const found = await judge(dependencies, session, locked, report, reporter);
    contradiction = found;
    if (found !== null) return contradicted(dependencies, session, locked, { found, report, reporter });
    const learned = await learn(dependencies, session, locked, report, { ...reporter, isNew });
    ({ adjusted } = learned);
    if (report.installation_status === null)
      return { ...learned.seen, events: learned.notes, wakes: migrationOf(locked.node) };
    const result = await recordInstallation(dependencies, session, learned.seen, report, reporter);
    ignored = result.ignored;
    // Before the transition, so that the newest entry of the history is the current state.
    const events = [...learned.notes, ...result.change.events];
    return { ...result.change, events, wakes: locked.node.order.operationId };
  });
  if (contradiction !== null) throw contradicting(contradiction);
  const isBoot = reporter.boot !== null && isOwnBoot(node, reporter);
  if (report.inventory !== undefined && (isBoot || isNew)) {
    await fillMacAddresses(dependencies, node, report.inventory);
    await judgeReported(dependencies, node);
  }
  // An installer that starts unwanted must be refused before it writes a byte.
  if (reporter.boot && report.installation_status === 'started' && ignored !== null) throw notWanted(ignored);
  return { node: await afterRules(dependencies, node), ignored, adjusted };
}

function judge(
  dependencies: ReportDependencies,
  session: Session,
  locked: LockedNode,
  { installation_status: status }: NodeReport,
  reporter: Reporter,
): Promise<Contradiction | null> {
  if (status === null) return Promise.resolve(null);
  return contradictionOf(dependencies, session, locked, status, reporter);
}

const CONTRADICTIONS_AN_HOUR = 20;
const HOUR_MS = 3_600_000;

interface Contradicted {
  readonly found: Contradiction;
  readonly report: NodeReport;
  readonly reporter: Reporter;
}

/** A report that contradicts changes nothing but the history, and that only so often: everyone can send it. */
async function contradicted(
  dependencies: ReportDependencies,
  session: Session,
  locked: LockedNode,
  { found, report, reporter }: Contradicted,
): Promise<NodeChange | null> {
  const { installation_status: status } = report;
  const { node } = locked;
  const now = dependencies.now();
  const before = await recentNotes(session, node.machineId, {
    key: 'contradicts',
    since: new Date(now.getTime() - HOUR_MS),
    limit: CONTRADICTIONS_AN_HOUR,
  });
  const entry = { reason: found.contradicts, report: status, address: reporter.address };
  const isKnown = before.some((noted) => isDeepStrictEqual(noted, entry));
  const cause: NodeCause = {
    ...reportCause(dependencies, node),
    comment: `a report was not accepted: ${found.contradicts}`,
    metadata: { contradicts: entry, report: status, address: reporter.address },
  };
  const events = isKnown || before.length >= CONTRADICTIONS_AN_HOUR ? [] : [traceEvent(node, cause)];
  if (!found.isStolen) return events.length === 0 ? null : { ...locked, events };
  const message = `${reporter.address} uses the token of a boot that ${reporter.boot?.address} fetched`;
  const raised = raiseConflict(locked, message, cause);
  return { ...raised, events: [...events, ...raised.events] };
}

/** An operator must find out which of two machines is the node. */
export function raiseConflict(
  { machine, node }: LockedNode,
  message: string,
  { now: at, actor, operationId }: NodeCause,
): NodeChange {
  const changed = applyChange(machine, { conditions: [bootConflict(message)] }, { at, actor, operationId });
  return { machine: changed.machine, node, events: changed.events };
}

function isInstalling({ state }: Node): boolean {
  return state === 'pending' || state === 'installing';
}

interface Learned {
  readonly seen: LockedNode;
  readonly notes: readonly NewEvent[];
  readonly adjusted: NodeReport['adjusted'];
}

/** Takes over what the report says about the hardware, as far as its sender may say it. */
async function learn(
  dependencies: ReportDependencies,
  session: Session,
  locked: LockedNode,
  report: NodeReport,
  reporter: Reporter & { readonly isNew: boolean },
): Promise<Learned> {
  const { node } = locked;
  const isBoot = isOwnBoot(node, reporter);
  // The report was judged before: without a token it comes from the only installer that reports.
  const isInstaller = reporter.token === null && report.installation_status !== null && isInstalling(node);
  const by = isBoot ? 'boot' : isInstaller ? 'installer' : 'anyone';
  const source = { by, address: reporter.address } as const;
  const facts = factsOf(report);
  const seen = { ...locked, node: { ...withFacts(node, facts, source), lastSeenAt: dependencies.now() } };
  const found = await inventoryEvents(dependencies, node, report, session, {
    mayChange: isBoot,
    mayCome: reporter.isNew || isInstaller || node.state === 'discovered',
  });
  const adjusted = {
    ...report.adjusted,
    ...keptFacts(node, facts, source),
    ...('dropped' in found ? { inventory: found.dropped } : {}),
  };
  const notes = [
    ...(await adjustmentNotes(dependencies, node, { ...report, adjusted }, session)),
    ...('events' in found ? found.events : []),
  ];
  return { seen, notes, adjusted };
}

async function inventoryEvents(
  dependencies: NodeDependencies,
  node: Node,
  { inventory }: NodeReport,
  session: Session,
  rights: InventoryRights,
): ReturnType<typeof keepInventory> {
  if (inventory === undefined) return { events: [] };
  return keepInventory(session, node, { inventory, ...rights, cause: reportCause(dependencies, node) });
}

function reportCause(dependencies: NodeDependencies, node: Node): NodeCause {
  return {
    actor: nodeActor(node.macAddress, dependencies.origin),
    owner: 'node_report',
    comment: '',
    metadata: {},
    operationId: node.order.operationId,
    now: dependencies.now(),
  };
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
    ...reportCause(dependencies, node),
    comment: 'parts of a report were not kept as sent',
    metadata: { report: report.installation_status ?? 'facts', adjusted },
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

function nodeActor(id: string, origin?: Origin): Actor {
  return { kind: 'node_report', id, ...(origin && { origin }) };
}

const REPEAT_AFTER_MS = 60_000;

interface ReportResult {
  readonly change: NodeChange;
  readonly ignored: string | null;
}

async function recordInstallation(
  dependencies: NodeDependencies,
  session: Session,
  locked: LockedNode,
  report: NodeReport,
  reporter: Reporter,
): Promise<ReportResult> {
  const { node } = locked;
  const { boot } = reporter;
  const status = report.installation_status ?? 'progress';
  const cause = reportCause(dependencies, node);
  const evidence = report.evidence ?? null;
  const proof = { status, mac: report.mac_address, evidence };
  const problem = staleBoot(node, boot) ?? unproven(reporter, proof);
  const outcome = problem === null ? applied(node, report, reporter) : unchanged(node, problem);
  const done = applyNotes(locked, outcome.notes, outcome.installRecord, cause);
  const erasing = recordErasure(done, outcome, cause);
  const events = [...done.events, ...erasing.events];
  const { ignored } = outcome;
  if (ignored !== null) {
    const metadata = { report: status, ignored };
    const last = await lastInHistory(session, node.machineId);
    if (!isRepetition(last, metadata, dependencies.now()))
      events.push(traceEvent(done.node, { ...cause, metadata }));
  }
  const change: NodeChange = {
    ...done,
    ...erasing,
    events,
    ...(ignored === null && { reported: true as const }),
  };
  const seen = await takeSignOfLife(session, withReporter(change, reporter, ignored), reporter, cause);
  return { change: promoted(dependencies, seen, cause), ignored };
}

function applied(node: Node, report: NodeReport, { boot }: Reporter): ReportOutcome {
  const outcome = applyReport(node.state, node.installRecord, {
    status: report.installation_status ?? 'progress',
    progress: report.installation_progress ?? null,
    error: report.installation_error ?? '',
    bootNo: boot?.bootNo ?? null,
    purpose: boot?.purpose ?? 'install',
    erased: report.erase ?? null,
  } satisfies InstallReport);
  const { image_sha256, bytes_written, sha256 } = report.evidence ?? {};
  const shown = boot === null ? 'none' : { image_sha256, bytes_written, sha256 };
  const notes = outcome.notes.map((note) =>
    note.to === 'installed' ? { ...note, metadata: { ...note.metadata, evidence: shown } } : note,
  );
  return { ...outcome, notes };
}

function unchanged({ state, installRecord }: Node, ignored: string): ReportOutcome {
  return { state, installRecord, notes: [], ignored };
}

/** A boot that never reported is over once a later one has fetched its installer. Null: it is not. */
function staleBoot({ bootsIssued, installRecord }: Node, boot: Reporter['boot']): string | null {
  if (boot === null || boot.bootNo <= installRecord.bootNo || boot.bootNo === bootsIssued) return null;
  return 'a later boot of it has fetched its installer';
}

/** An installer without a token is known by its address from its first report on. */
function withReporter(change: NodeChange, { boot, address }: Reporter, ignored: string | null): NodeChange {
  if (boot !== null || ignored !== null) return change;
  return { ...change, node: { ...change.node, reporterAddress: address } };
}

/**
 * A boot that reports although a later one has fetched its installer is not the one that restarted: two machines boot as this
 * node. The one that was at work stays, and the tokens of later boots end.
 */
async function takeSignOfLife(
  session: Session,
  change: NodeChange,
  { boot, address }: Reporter,
  cause: NodeCause,
): Promise<NodeChange> {
  const { node } = change;
  if (boot === null || boot.bootNo < node.installRecord.firstBootNo) return change;
  if (change.reported) await bootReported(session, boot, cause.now);
  if (boot.bootNo >= node.bootsIssued) return change;
  if (boot.bootNo === node.installRecord.bootNo) await endLaterBoots(session, boot);
  const message = `its boot ${boot.bootNo} at ${address} still reports, and boot ${node.bootsIssued} has fetched an installer since`;
  const raised = raiseConflict(change, message, cause);
  return { ...change, machine: raised.machine, events: [...change.events, ...raised.events] };
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
