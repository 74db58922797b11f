/**
 * What a machine boots when it asks the network: an iPXE script, by the state of its node. Only a node that is to be
 * installed or erased gets an installer, with a token for this boot and purpose, and only where the boot is admitted
 * (boot-admission.ts); every other machine boots from disk, whatever failed. A node that fetches installers repeatedly
 * without a report boots from disk for a while, too.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { isTrue } from '../../../domain/condition/condition.ts';
import type { NewEvent } from '../../../domain/event.ts';
import {
  type InstallerArch,
  installerArchOf,
  SERIAL_CONSOLES,
} from '../../../domain/install/architecture.ts';
import { admitBoot, type BootClaim, type EarlierBoot } from '../../../domain/install/boot/boot-admission.ts';
import type { WantedDisk } from '../../../domain/install/install-evidence.ts';
import type { InstallProfile } from '../../../domain/install/install-profile.ts';
import { type BootPurpose, MAX_INSTALL_ATTEMPTS, type Node } from '../../../domain/install/node.ts';
import type { Session } from '../../../store/database/database.ts';
import { changeEvent } from '../../../store/events/record-change.ts';
import { findOpenBurnIn, setBurnInToken } from '../../../store/hardware/burn-ins.ts';
import {
  countBootsIssued,
  findLatestBoot,
  findTracedBoot,
  insertBootToken,
  newBootToken,
  newTraceId,
} from '../../../store/nodes/boot-tokens.ts';
import type { FileDigests } from '../../../store/nodes/file-digests.ts';
import { recentNotes, wasNoted } from '../../../store/nodes/node-lists.ts';
import { isOperationWanted, type LockedNode, type NodeChange } from '../../../store/nodes/nodes.ts';
import { preparedBurnIn, readErasePlan, readInstallPlan, type ServedImage } from '../install-plan.ts';
import { type NodeCause, traceEvent } from '../node-changes.ts';
import { NO_FACTS } from '../node-input.ts';
import { changeAndLog } from '../nodes.ts';
import { withFacts } from '../report/node-facts.ts';
import { migrationOf, type ReportDependencies, raiseConflict } from '../report/node-report.ts';
import {
  type BootFile,
  diskScript,
  type InstallerBoot,
  installerScript,
  installerWords,
  type Verification,
  whichHardwareScript,
} from './boot-script.ts';
import { bootsByUrl } from './boot-url.ts';
import { nodeThatBoots } from './discovery.ts';

export interface BootDependencies extends ReportDependencies {
  readonly bootTokenSeconds: number;
  /** How long after its last sign a boot counts as live. */
  readonly liveSeconds: number;
  /** Why machines may not fetch an image from this host; null: they may. */
  readonly imageHostProblem: (host: string) => string | null;
  /** Whether iPXE verifies boot files that have signatures. */
  readonly verify: Verification;
  /** The digests of boot files. */
  readonly digests: FileDigests;
}

export interface BootRequest extends BootClaim {
  /** Of the request for the script. */
  readonly requestId: string;
  readonly mac: string;
  /** How the machine reaches this server. */
  readonly baseUrl: string;
  /** The architecture that iPXE reports; null: not reported or not known. */
  readonly arch: InstallerArch | null;
  readonly bootMode: 'bios' | 'uefi' | null;
  /** How the machine was recognised: by the MAC address that it sends, or by its one-time URL. */
  readonly by: 'mac' | 'url';
  /** The trace id of a boot whose installer could not be loaded; null: none. */
  readonly failed: string | null;
}

export interface BootAnswer {
  readonly script: string;
  /** The command line of the kernel, for a boot without a script; null: no installer. */
  readonly words: string | null;
  readonly served: 'installer' | 'eraser' | 'disk' | 'question' | 'refused';
  /** Why no installer is served; empty: the state needs none. */
  readonly reason: string;
  /** Empty: not a node. */
  readonly machineId: string;
  readonly bootNo: number | null;
}

/** The limit of installers for a node that reports nothing: this many in this many seconds. */
const MAX_UNREPORTED_BOOTS = 5;
const UNREPORTED_SECONDS = 1800;
/** The history gets the same reason at most once in this time. */
const REPEAT_AFTER_MS = 3_600_000;

export async function bootScript(dependencies: BootDependencies, request: BootRequest): Promise<BootAnswer> {
  const { mac, address, serialNumber, systemUuid } = request;
  const known = { arch: request.arch ?? '', bootMode: request.bootMode ?? '', serialNumber, systemUuid };
  const facts = { ...NO_FACTS, ...known };
  const found = await nodeThatBoots(dependencies, { mac, address, facts });
  if ('refused' in found) {
    const reason = 'this machine is not taken in now';
    return {
      script: diskScript(reason),
      words: null,
      served: 'refused',
      reason,
      machineId: '',
      bootNo: null,
    };
  }
  const { id } = found;
  const testing = await burnInBoot(dependencies, id, request);
  if (testing) return withInstaller(dependencies, testing.answer, testing.installer);
  let answer: BootAnswer | null = null;
  let installer: InstallerBoot | null = null;
  await changeAndLog(dependencies, id, async (locked, session) => {
    const plan = await bootPlan(dependencies, session, locked, request);
    const isAdmitted = 'purpose' in plan;
    const source = { by: isAdmitted ? 'boot' : 'anyone', address } as const;
    const seenAt =
      isAdmitted || 'ask' in plan || plan.reason === '' ? dependencies.now() : locked.node.lastSeenAt;
    const node = { ...withFacts(locked.node, facts, source), lastSeenAt: seenAt };
    const seen = { ...locked, node };
    if ('ask' in plan || (migrationOf(node) !== null && !request.isAnswer)) {
      const script = whichHardwareScript(request.baseUrl, mac);
      answer = { script, words: null, served: 'question', reason: '', machineId: id, bootNo: null };
      return { ...seen, events: [], wakes: migrationOf(node) };
    }
    if (!isAdmitted) {
      const { reason } = plan;
      const script = diskScript(`machine ${id} is ${node.state}${reason === '' ? '' : `: ${reason}`}`);
      answer = { script, words: null, served: 'disk', reason, machineId: id, bootNo: null };
      return { ...(await noted(dependencies, session, seen, plan, address)), wakes: migrationOf(node) };
    }
    const issued = await issueBoot(dependencies, session, node, plan, request);
    ({ answer, installer } = issued);
    return { ...seen, ...issued.change, wakes: node.order.operationId };
  });
  if (answer === null) throw new Error('a boot was answered with nothing');
  // Files are hashed when the transaction is over: that may take a while.
  return installer === null ? answer : withInstaller(dependencies, answer, installer);
}

async function withInstaller(
  { bootDir, digests }: BootDependencies,
  answer: BootAnswer,
  installer: InstallerBoot,
): Promise<BootAnswer> {
  const { kernel, initrd } = installer.profile;
  const fileOf = async (path: string): Promise<BootFile> => {
    if (path.includes('://')) return { path, sha256: null, isSigned: false };
    const file = join(bootDir, path);
    const isSigned = statSync(`${file}.sig`, { throwIfNoEntry: false })?.isFile() === true;
    return { path, sha256: await digests.of(file), isSigned };
  };
  const files = { kernel: await fileOf(kernel), initrd: await fileOf(initrd) };
  return { ...answer, script: installerScript(installer, files), words: installerWords(installer) };
}

/** The boot that tests or inspects the machine; null: no operation wants one. It needs no state of the node, and changes none. */
async function burnInBoot(
  dependencies: BootDependencies,
  machineId: string,
  request: BootRequest,
): Promise<Pick<IssuedBoot, 'answer' | 'installer'> | null> {
  return dependencies.database.transaction(async (session) => {
    const burnIn = await findOpenBurnIn(session, machineId);
    if (burnIn === null || request.failed !== null || !(await isOperationWanted(session, burnIn.operationId)))
      return null;
    const arch = request.arch ?? installerArchOf('');
    const profile = preparedBurnIn(dependencies, burnIn, arch);
    if ('code' in profile) return null;
    const [token, traceId] = [newBootToken(), newTraceId()];
    await setBurnInToken(session, burnIn, token, request.address);
    const { baseUrl, mac } = request;
    const installer: InstallerBoot = {
      ...{ baseUrl, mac, machineId, profile, token, traceId },
      hostname: '',
      purpose: burnIn.purpose === 'inspection' ? 'inspection' : 'burn-in',
      image: null,
      overwrite: '',
      console: SERIAL_CONSOLES[arch],
      verify: dependencies.verify,
    };
    const answer = {
      script: '',
      words: null,
      served: 'installer',
      reason: '',
      machineId,
      bootNo: null,
    } as const;
    return { answer, installer };
  });
}

interface IssuedBoot {
  readonly change: Pick<NodeChange, 'node' | 'events'>;
  readonly answer: BootAnswer;
  readonly installer: InstallerBoot;
}

/** The script that boots the installer, with a token for this boot alone. */
async function issueBoot(
  dependencies: BootDependencies,
  session: Session,
  node: Node,
  plan: BootPlan,
  request: BootRequest,
): Promise<IssuedBoot> {
  const { machineId } = node;
  const [token, traceId, bootNo] = [newBootToken(), newTraceId(), node.bootsIssued + 1];
  await insertBootToken(session, {
    token,
    traceId,
    machineId,
    bootNo,
    operationId: node.order.operationId,
    purpose: plan.purpose,
    image: plan.image?.name ?? '',
    address: request.address,
    wanted: wantedDisk(plan.image),
    issuedAt: dependencies.now(),
    ttlSeconds: dependencies.bootTokenSeconds,
  });
  const installer = {
    ...request,
    ...plan,
    machineId,
    hostname: node.facts.hostname,
    overwrite: node.order.overwrite,
    console: SERIAL_CONSOLES[archOf(request, node)],
    verify: dependencies.verify,
    token,
    traceId,
  };
  const served = plan.purpose === 'erase' ? 'eraser' : 'installer';
  return {
    change: { node: { ...node, bootsIssued: bootNo }, events: [issuedEvent(node, plan, request, bootNo)] },
    answer: { script: '', words: null, served, reason: '', machineId, bootNo },
    installer,
  };
}

/** A boot token opens an image and a seed, which may hold secrets: who got one is on record. */
function issuedEvent(
  { machineId, order }: Node,
  { purpose, image }: BootPlan,
  { mac, address, requestId }: BootRequest,
  bootNo: number,
): NewEvent {
  return changeEvent({
    kind: 'node',
    subject: machineId,
    to: 'boot_token_issued',
    actor: { kind: 'node_report', id: mac, origin: { address, requestId, via: '' } },
    metadata: { boot_no: bootNo, purpose, image: image?.name ?? '' },
    machineId,
    operationId: order.operationId,
  });
}

/** Only a raw image is on the disk what it is as a file; a qcow2 file says how large its disk is. */
function wantedDisk(image: ServedImage | null): WantedDisk {
  if (image === null) return { imageSha256: '', diskSha256: '', diskBytes: null };
  const { sha256: imageSha256, format, sizeBytes, virtualBytes } = image;
  if (format === 'raw') return { imageSha256, diskSha256: imageSha256, diskBytes: sizeBytes };
  return { imageSha256, diskSha256: '', diskBytes: virtualBytes };
}

/** The processor that runs iPXE decides the kernel, whatever the node's facts say. */
function archOf({ arch }: BootRequest, node: Node): InstallerArch {
  return arch ?? installerArchOf(node.facts.arch);
}

/** Why a machine boots from disk. */
interface FromDisk {
  /** Empty: normal for its state. */
  readonly reason: string;
  /** The boot that failed, if one did. */
  readonly bootNo?: number;
  /** The boot that another machine has under way. */
  readonly earlier?: EarlierBoot;
}

/** The firmware must say first which hardware it is. */
interface Question {
  readonly ask: 'hardware';
}

interface BootPlan {
  readonly purpose: BootPurpose;
  readonly profile: InstallProfile;
  /** Null: an erasure needs none. */
  readonly image: ServedImage | null;
}

/** What this boot does, or why it boots from disk. */
async function bootPlan(
  dependencies: BootDependencies,
  session: Session,
  { machine, node }: LockedNode,
  request: BootRequest,
): Promise<BootPlan | FromDisk | Question> {
  const isErasing = node.state === 'deprovisioning';
  if (!isErasing && node.state !== 'pending' && node.state !== 'installing') return { reason: '' };
  if (!isErasing && isTrue(machine.conditions, 'Retired')) return { reason: 'it is flagged Retired' };
  if (request.failed !== null) return failedToLoad(session, node, request.failed, request.address);
  const { operationId } = node.order;
  if (operationId !== null && !(await isOperationWanted(session, operationId))) {
    return { reason: `the operation that wanted to ${isErasing ? 'erase' : 'install'} it is over` };
  }
  const asked = { ...node, facts: { ...node.facts, arch: archOf(request, node) } };
  const plan = isErasing
    ? await erasureOf(dependencies, session, asked)
    : await installationOf(dependencies, session, asked);
  if ('reason' in plan) return plan;
  const obstacle = await admissionObstacle(dependencies, session, { machine, node }, request);
  return obstacle ?? (await unreportedBoots(session, node, request)) ?? plan;
}

/** Null: this machine gets the installer of the node. */
async function admissionObstacle(
  { bootWindowSeconds, liveSeconds, isInNetwork, now }: BootDependencies,
  session: Session,
  { machine, node }: LockedNode,
  claim: BootRequest,
): Promise<FromDisk | Question | null> {
  const isByUrl = await bootsByUrl(session, node);
  if (claim.by === 'url')
    return isByUrl ? null : { reason: 'it was approved again, and its one-time URL is over' };
  if (isByUrl) return { reason: 'it boots by a one-time URL and by nothing else' };
  const admission = admitBoot({
    node,
    claim,
    isInNetwork: isInNetwork(machine, claim.address),
    earlier: await earlierBoot(session, node),
    rules: { windowSeconds: bootWindowSeconds, liveSeconds },
    now: now(),
  });
  switch (admission.verdict) {
    case 'admitted':
      return null;
    case 'ask':
      return { ask: 'hardware' };
    case 'refused':
    case 'conflict':
      return admission;
  }
}

/** Also an installer that reports without a token is one. */
async function earlierBoot(session: Session, node: Node): Promise<EarlierBoot | null> {
  const boot = await findLatestBoot(session, node.machineId, node.installRecord.firstBootNo);
  if (node.reporterAddress === '' || node.lastReportAt === null) return boot;
  const reporter = { bootNo: 0, address: node.reporterAddress, seenAt: node.lastReportAt };
  return boot === null || boot.seenAt.getTime() < reporter.seenAt.getTime() ? reporter : boot;
}

async function installationOf(
  dependencies: BootDependencies,
  session: Session,
  node: Node,
): Promise<BootPlan | FromDisk> {
  const plan = await readInstallPlan(dependencies, session, node);
  return 'code' in plan ? { reason: plan.problem } : { purpose: 'install', ...plan };
}

/** Stops erasures that fail again and again: at the limit, an admin or an operation must reset the counter. */
async function erasureOf(
  dependencies: BootDependencies,
  session: Session,
  node: Node,
): Promise<BootPlan | FromDisk> {
  const { attempts } = node.installRecord;
  if (attempts >= MAX_INSTALL_ATTEMPTS)
    return { reason: `its erasure failed ${attempts} times and is not tried again by itself` };
  const plan = await readErasePlan(dependencies, session, node);
  return 'code' in plan ? { reason: plan.problem } : { purpose: 'erase', profile: plan, image: null };
}

/** Stops boots that never report, in the same way. Those of other addresses count for them, not for this machine. */
async function unreportedBoots(
  session: Session,
  { machineId, installRecord }: Node,
  { address }: BootRequest,
): Promise<FromDisk | null> {
  const afterBootNo = Math.max(installRecord.bootNo, installRecord.firstBootNo - 1);
  const issued = { address, afterBootNo, seconds: UNREPORTED_SECONDS };
  const count = await countBootsIssued(session, machineId, issued);
  if (count < MAX_UNREPORTED_BOOTS) return null;
  const minutes = UNREPORTED_SECONDS / 60;
  return { reason: `${count} boots in ${minutes} minutes fetched the installer and none of them reported` };
}

/** Only the machine that was served the boot can say that it failed. */
async function failedToLoad(
  session: Session,
  node: Node,
  traceId: string,
  address: string,
): Promise<FromDisk> {
  const bootNo = await findTracedBoot(session, { machineId: node.machineId, traceId, address });
  return bootNo === null ? { reason: '' } : { reason: 'its installer could not be loaded', bootNo };
}

const CONFLICTS_AN_HOUR = 20;

/** Records for operators that a node waits for its installer and boots from its disk, and a conflict with another boot. */
async function noted(
  dependencies: BootDependencies,
  session: Session,
  locked: LockedNode,
  { reason, bootNo, earlier }: FromDisk,
  address: string,
): Promise<NodeChange> {
  const { node } = locked;
  if (reason === '') return { ...locked, events: [] };
  // The error of a failed attempt is the better reason; what another machine was refused is none of this one.
  const isOwn = earlier === undefined && node.installRecord.attempts === 0;
  const lastError = isOwn ? reason : node.installRecord.lastError;
  const changed = { ...node, installRecord: { ...node.installRecord, lastError } };
  const conflict = earlier && { address, live_address: earlier.address, live_boot: earlier.bootNo };
  const cause: NodeCause = {
    actor: { kind: 'system', id: 'netboot' },
    owner: 'system',
    comment: earlier ? `${address} asked to boot as this machine while ${earlier.address} boots as it` : '',
    metadata: {
      boot: 'disk',
      reason,
      ...(bootNo === undefined ? {} : { boot_no: bootNo }),
      ...(conflict && { conflict }),
    },
    operationId: node.order.operationId,
    now: dependencies.now(),
  };
  const raised = earlier
    ? raiseConflict({ ...locked, node: changed }, cause.comment, cause)
    : { machine: locked.machine, events: [] };
  const isNew = await isNewNote(session, node.machineId, cause);
  const events = [...raised.events, ...(isNew ? [traceEvent(changed, cause)] : [])];
  return { machine: raised.machine, node: changed, events };
}

/** The same once an hour, and of conflicts only so many: a stranger can have many addresses. */
async function isNewNote(session: Session, id: string, { metadata, now }: NodeCause): Promise<boolean> {
  const since = new Date(now.getTime() - REPEAT_AFTER_MS);
  if (await wasNoted(session, id, metadata, since)) return false;
  if (metadata.conflict === undefined) return true;
  const conflicts = await recentNotes(session, id, { key: 'conflict', since, limit: CONFLICTS_AN_HOUR });
  return conflicts.length < CONFLICTS_AN_HOUR;
}
