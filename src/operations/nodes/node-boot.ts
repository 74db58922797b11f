/**
 * What a machine boots when it asks the network: an iPXE script, by the state of its node. Only a node that is to be
 * installed or erased gets an installer, with a token for this boot and purpose; every other machine boots from disk,
 * whatever failed. A node that fetches installers repeatedly without a report boots from disk for a while, too.
 */

import { isTrue } from '../../domain/condition/condition.ts';
import type { NewEvent } from '../../domain/event.ts';
import { type InstallerArch, installerArchOf, SERIAL_CONSOLES } from '../../domain/install/architecture.ts';
import type { InstallProfile } from '../../domain/install/install-profile.ts';
import { type BootPurpose, MAX_INSTALL_ATTEMPTS, type Node } from '../../domain/install/node.ts';
import type { Session } from '../../store/database/database.ts';
import {
  countBootsIssued,
  findTracedBoot,
  insertBootToken,
  newBootToken,
  newTraceId,
} from '../../store/nodes/boot-tokens.ts';
import { wasNoted } from '../../store/nodes/node-lists.ts';
import { isOperationWanted, type LockedNode } from '../../store/nodes/nodes.ts';
import { diskScript, installerScript, whichHardwareScript } from './boot-script.ts';
import { readErasePlan, readInstallPlan, type ServedImage } from './install-plan.ts';
import { type NodeCause, traceEvent } from './node-changes.ts';
import { NO_FACTS } from './node-input.ts';
import { migrationOf, nodeThatBoots, type ReportDependencies, withFacts } from './node-report.ts';
import { changeAndLog } from './nodes.ts';

export interface BootDependencies extends ReportDependencies {
  readonly bootTokenSeconds: number;
}

export interface BootRequest {
  readonly mac: string;
  /** The address of the client. */
  readonly address: string;
  /** How the machine reaches this server. */
  readonly baseUrl: string;
  /** The architecture that iPXE reports; null: not reported or not known. */
  readonly arch: InstallerArch | null;
  readonly bootMode: 'bios' | 'uefi' | null;
  /** Reported by its firmware; empty: not reported. */
  readonly serialNumber: string;
  readonly systemUuid: string;
  /** The request already answers a question. */
  readonly isAnswer: boolean;
  /** The trace id of a boot whose installer could not be loaded; null: none. */
  readonly failed: string | null;
}

export interface BootAnswer {
  readonly script: string;
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
  const { serialNumber, systemUuid } = request;
  const known = { arch: request.arch ?? '', bootMode: request.bootMode ?? '', serialNumber, systemUuid };
  const facts = { ...NO_FACTS, ...known };
  const id = await nodeThatBoots(dependencies, { mac: request.mac, facts, address: request.address });
  if (id === null) {
    const reason = 'this machine is not taken in now';
    return { script: diskScript(reason), served: 'refused', reason, machineId: '', bootNo: null };
  }
  let answer: BootAnswer | null = null;
  await changeAndLog(dependencies, id, async (locked, session) => {
    const node = { ...withFacts(locked.node, facts), lastSeenAt: dependencies.now() };
    const seen = { ...locked, node };
    const plan = await bootPlan(dependencies, session, seen, request);
    if (migrationOf(node) !== null && !request.isAnswer) {
      const script = whichHardwareScript(request.baseUrl, request.mac);
      answer = { script, served: 'question', reason: '', machineId: id, bootNo: null };
      return { ...seen, events: [], wakes: migrationOf(node) };
    }
    if ('reason' in plan) {
      const { reason } = plan;
      const script = diskScript(`machine ${id} is ${node.state}${reason === '' ? '' : `: ${reason}`}`);
      answer = { script, served: 'disk', reason, machineId: id, bootNo: null };
      return { ...seen, ...(await noted(dependencies, session, node, plan)), wakes: migrationOf(node) };
    }
    const [token, traceId, bootNo] = [newBootToken(), newTraceId(), node.bootsIssued + 1];
    await insertBootToken(session, {
      token,
      traceId,
      machineId: id,
      bootNo,
      operationId: node.order.operationId,
      purpose: plan.purpose,
      image: plan.image?.name ?? '',
      ttlSeconds: dependencies.bootTokenSeconds,
    });
    const script = installerScript({
      ...request,
      ...plan,
      machineId: id,
      hostname: node.facts.hostname,
      overwrite: node.order.overwrite,
      console: SERIAL_CONSOLES[archOf(request, node)],
      token,
      traceId,
    });
    const served = plan.purpose === 'erase' ? 'eraser' : 'installer';
    answer = { script, served, reason: '', machineId: id, bootNo };
    return { ...seen, node: { ...node, bootsIssued: bootNo }, events: [], wakes: node.order.operationId };
  });
  if (answer === null) throw new Error('a boot was answered with nothing');
  return answer;
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
): Promise<BootPlan | FromDisk> {
  const isErasing = node.state === 'deprovisioning';
  if (!isErasing && node.state !== 'pending' && node.state !== 'installing') return { reason: '' };
  if (!isErasing && isTrue(machine.conditions, 'Retired')) return { reason: 'it is flagged Retired' };
  if (request.failed !== null) return failedToLoad(session, node, request.failed);
  const { operationId } = node.order;
  if (operationId !== null && !(await isOperationWanted(session, operationId))) {
    return { reason: `the operation that wanted to ${isErasing ? 'erase' : 'install'} it is over` };
  }
  const asked = { ...node, facts: { ...node.facts, arch: archOf(request, node) } };
  const plan = isErasing
    ? await erasureOf(dependencies, session, asked)
    : await installationOf(dependencies, session, asked);
  return 'reason' in plan ? plan : ((await unreportedBoots(session, node)) ?? plan);
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

/** Stops boots that never report, in the same way. */
async function unreportedBoots(
  session: Session,
  { machineId, installRecord }: Node,
): Promise<FromDisk | null> {
  const reported = Math.max(installRecord.bootNo, installRecord.firstBootNo - 1);
  const count = await countBootsIssued(session, machineId, reported, UNREPORTED_SECONDS);
  if (count < MAX_UNREPORTED_BOOTS) return null;
  const minutes = UNREPORTED_SECONDS / 60;
  return { reason: `${count} boots in ${minutes} minutes fetched the installer and none of them reported` };
}

async function failedToLoad(session: Session, node: Node, traceId: string): Promise<FromDisk> {
  const bootNo = await findTracedBoot(session, node.machineId, traceId);
  const reason = 'its installer could not be loaded';
  return bootNo === null ? { reason } : { reason, bootNo };
}

/** Records for operators that a node waits for its installer and boots from its disk. */
async function noted(
  dependencies: BootDependencies,
  session: Session,
  node: Node,
  { reason, bootNo }: FromDisk,
): Promise<{ node: Node; events: NewEvent[] }> {
  if (reason === '') return { node, events: [] };
  // The error of a failed attempt is the better reason.
  const lastError = node.installRecord.attempts === 0 ? reason : node.installRecord.lastError;
  const changed = { ...node, installRecord: { ...node.installRecord, lastError } };
  const metadata = { boot: 'disk', reason, ...(bootNo === undefined ? {} : { boot_no: bootNo }) };
  const since = new Date(dependencies.now().getTime() - REPEAT_AFTER_MS);
  if (await wasNoted(session, node.machineId, metadata, since)) return { node: changed, events: [] };
  const cause: NodeCause = {
    actor: { kind: 'system', id: 'netboot' },
    owner: 'system',
    comment: '',
    metadata,
    operationId: node.order.operationId,
    now: dependencies.now(),
  };
  return { node: changed, events: [traceEvent(changed, cause)] };
}
