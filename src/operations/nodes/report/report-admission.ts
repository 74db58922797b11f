/**
 * Whether a report about an installation comes from the boot that it claims to come from. A boot that was given a token must
 * send it, from the address that fetched it. Only where no boot of this installation got a token is a report accepted without
 * one, because other installers than Ingot's know none: while the installation is expected, and from one address.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../../domain/error/fault.ts';
import { isExpected } from '../../../domain/install/boot/boot-admission.ts';
import {
  evidenceMessage,
  evidenceProblem,
  type InstallEvidence,
} from '../../../domain/install/install-evidence.ts';
import { handsOutToken } from '../../../domain/install/install-profile.ts';
import type { InstallationStatus } from '../../../domain/install/install-report.ts';
import type { Node } from '../../../domain/install/node.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { Session } from '../../../store/database/database.ts';
import { type BootToken, findBootToken } from '../../../store/nodes/boot-tokens.ts';
import { isOperationWanted } from '../../../store/nodes/nodes.ts';
import { type InstallPlanDependencies, knownProfile, profileNameOf } from '../install-plan.ts';

export interface ReportAdmissionDependencies extends InstallPlanDependencies {
  readonly bootWindowSeconds: number;
  /** Whether the machine may boot from this address. */
  readonly isInNetwork: (machine: Machine, address: string) => boolean;
  /** Whether installers without a token are accepted. */
  readonly acceptsTokenless: boolean;
  readonly now: () => Date;
}

export interface Reporter {
  readonly token: string | null;
  readonly address: string;
  /** The boot of the token; null: none, or the token is unknown or expired. */
  readonly boot: BootToken | null;
}

/** Why a report is not that of the boot it claims to be. */
export interface Contradiction {
  readonly contradicts: string;
  /** The token is good, and comes from elsewhere: two machines have it. */
  readonly isStolen?: true;
}

export async function findReporter(
  session: Session,
  token: string | null,
  address: string,
): Promise<Reporter> {
  return { token, address, boot: token === null ? null : await findBootToken(session, token) };
}

/** Whether the report comes from a boot of this installation of the node. */
export function isOwnBoot(node: Node, { boot, address }: Reporter): boolean {
  if (boot === null || boot.machineId !== node.machineId || !isAtHome(boot, address)) return false;
  return boot.bootNo >= node.installRecord.firstBootNo;
}

export function isAtHome(boot: Pick<BootToken, 'address'>, address: string): boolean {
  return boot.address === '' || boot.address === address;
}

/** Null: the report counts. */
export async function contradictionOf(
  dependencies: ReportAdmissionDependencies,
  session: Session,
  { machine, node }: { readonly machine: Machine; readonly node: Node },
  status: InstallationStatus,
  reporter: Reporter,
): Promise<Contradiction | null> {
  if (reporter.token !== null) return tokenContradiction(session, node, reporter);
  if (await wasGivenToken(dependencies, session, node))
    return { contradicts: 'this boot was given a token; its reports must carry it' };
  const { address } = reporter;
  if (node.state !== 'pending' && node.state !== 'installing') return null;
  if (!dependencies.acceptsTokenless)
    return { contradicts: 'this server accepts no report about an installation without a boot token' };
  if (!dependencies.isInNetwork(machine, address))
    return { contradicts: 'it comes from another network than that of the machine' };
  const isBegun = node.state === 'installing';
  if (isBegun && node.reporterAddress !== '' && node.reporterAddress !== address)
    return { contradicts: 'another address reports about this installation' };
  const window = { windowSeconds: dependencies.bootWindowSeconds };
  if (!isBegun && status === 'started' && !isExpected(node, window, dependencies.now()))
    return { contradicts: 'this installation is not expected: it was approved too long ago' };
  return null;
}

async function tokenContradiction(
  session: Session,
  node: Node,
  { boot, address }: Reporter,
): Promise<Contradiction | null> {
  const message = "the boot token is unknown, expired, another machine's, or its operation is over";
  if (boot === null || boot.machineId !== node.machineId) return { contradicts: message };
  if (!isAtHome(boot, address))
    return {
      contradicts: 'another address fetched this boot token than the one that uses it',
      isStolen: true,
    };
  // A token of an earlier installation is not a forgery: the report is late and changes nothing.
  if (boot.bootNo < node.installRecord.firstBootNo) return null;
  const { operationId } = node.order;
  const isLive = operationId === null || (await isOperationWanted(session, operationId));
  return isLive && boot.operationId === operationId ? null : { contradicts: message };
}

export function contradicting({ contradicts }: Contradiction): Fault {
  return new Fault('INVALID_BOOT_TOKEN', { message: contradicts });
}

/** Whether the boots of this installation get a token: only if the command line has it. */
async function wasGivenToken(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<boolean> {
  if (node.bootsIssued < node.installRecord.firstBootNo) return false;
  if (node.state === 'deprovisioning') return true;
  const profile = await knownProfile(dependencies, session, profileNameOf(node));
  return profile === null || handsOutToken(profile);
}

/** Why a `complete` of a boot with a token proves no installation; null: it does, or needs no proof. */
export function unproven({ boot, token }: Reporter, { status, mac, evidence }: Completion): string | null {
  if (status !== 'complete' || boot === null || token === null || boot.purpose !== 'install') return null;
  return evidenceProblem(evidence, boot.wanted, (given) => {
    const { signature, ...signed } = given;
    const expected = createHmac('sha256', token).update(evidenceMessage(mac, signed)).digest();
    return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
  });
}

interface Completion {
  readonly status: InstallationStatus;
  readonly mac: string;
  readonly evidence: InstallEvidence | null;
}
