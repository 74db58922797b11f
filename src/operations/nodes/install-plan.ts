/**
 * What a node is installed with, and what is missing for it: one answer for approvals, operations and boots. Kernels
 * and initramfs are local files; replicas on several hosts share a data directory, or each has its copy.
 */

import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Scope } from '../../domain/access/scope.ts';
import { type Fault, unmetPrecondition } from '../../domain/error/fault.ts';
import type { BurnInRequest } from '../../domain/hardware/burn-in.ts';
import { type InstallerArch, installerArchOf, installerFile } from '../../domain/install/architecture.ts';
import {
  BUILT_IN_PROFILE,
  builtInProfile,
  burnInProfile,
  DEFAULT_PROFILE_NAME,
  ERASE_PROFILE_NAME,
  type InstallProfile,
  isOwnInstallerFile,
  needsImage,
  type ProfileImage,
} from '../../domain/install/install-profile.ts';
import {
  INSTALLER_MANIFEST,
  INTERFACES,
  manifestProblem,
  readManifest,
} from '../../domain/install/installer-manifest.ts';
import type { Node } from '../../domain/install/node.ts';
import type { Session } from '../../store/database/database.ts';
import { findImage, findInstallProfile, type Image } from '../../store/nodes/images.ts';

export interface InstallPlanDependencies {
  /** The profiles of the configuration, by name; they take precedence over stored ones. */
  readonly profiles: ReadonlyMap<string, InstallProfile>;
  /** The folder of the boot files. */
  readonly bootDir: string;
}

export interface ServedImage {
  /** Empty for an image at a URL. */
  readonly name: string;
  readonly url: string | null;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Null: not known, as for an image at a URL. */
  readonly format: Image['format'];
  readonly virtualBytes: number | null;
}

export interface InstallPlan {
  /** With the kernel and initramfs for the node's architecture. */
  readonly profile: InstallProfile;
  /** Null: the booted system needs none. */
  readonly image: ServedImage | null;
}

export type ObstacleCode =
  | 'WORKFLOW_NOT_FOUND'
  | 'INSTALLER_NOT_BUILT'
  | 'BOOT_FILE_MISSING'
  | 'NO_IMAGE'
  | 'IMAGE_NOT_FOUND';

/** Why a node cannot be installed, and the command that fixes it. */
export interface InstallObstacle {
  readonly code: ObstacleCode;
  readonly problem: string;
  readonly fix: string;
}

/** The input of the decision what to install. */
export interface InstallFactsOfNode {
  readonly profileName: string;
  readonly profile: InstallProfile | null;
  /** As the node reports it; empty: not known. */
  readonly arch: string;
  /** The image that an operation named; empty: that of the profile. */
  readonly orderedImage: string;
}

export function profileNameOf(node: Pick<Node, 'profile'>): string {
  return node.profile === '' ? DEFAULT_PROFILE_NAME : node.profile;
}

/** A stored one that the scope may not read does not exist for its caller; machines boot without a scope. */
export async function knownProfile(
  { profiles }: Pick<InstallPlanDependencies, 'profiles'>,
  session: Session,
  name: string,
  scope: Scope | null = null,
): Promise<InstallProfile | null> {
  const stored = profiles.get(name) ?? (await findInstallProfile(session, name, scope));
  return stored ?? builtInProfile(name);
}

export async function readInstallPlan(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<InstallPlan | InstallObstacle> {
  const profileName = profileNameOf(node);
  const known = await knownProfile(dependencies, session, profileName);
  const facts = {
    profileName,
    profile: known,
    arch: node.facts.arch,
    orderedImage: node.order.image,
  };
  const prepared = preparedInstall(dependencies, facts);
  if ('code' in prepared) return prepared;
  const { profile, wanted } = prepared;
  if (wanted === null) return { profile, image: null };
  if ('url' in wanted) return { profile, image: { name: '', ...wanted, format: null, virtualBytes: null } };
  const image = await findImage(session, wanted.name, null);
  if (!image) return imageMissing(wanted.name);
  const obstacle = formatObstacle(dependencies, profile, node.facts.arch, image);
  if (obstacle) return obstacle;
  return {
    profile,
    image: { url: null, ...image },
  };
}

/** Everything but the check that the image exists. */
export function preparedInstall(
  { bootDir }: Pick<InstallPlanDependencies, 'bootDir'>,
  { profileName, profile, arch, orderedImage }: InstallFactsOfNode,
): { readonly profile: InstallProfile; readonly wanted: ProfileImage | null } | InstallObstacle {
  if (!profile) return profileMissing(profileName);
  if (profileName === ERASE_PROFILE_NAME) return erasesOnly();
  const forArch = bootable(bootDir, profile, arch, interfaceOf(profile));
  if ('code' in forArch) return forArch;
  const wanted = orderedImage === '' ? profile.image : { name: orderedImage };
  if (wanted === null && needsImage(profile)) return noImageNamed(profileName);
  return { profile: forArch, wanted };
}

/** An installer that does not know the format of the image would write the file unchanged. Null: it knows it. */
export function formatObstacle(
  { bootDir }: Pick<InstallPlanDependencies, 'bootDir'>,
  profile: InstallProfile,
  arch: string,
  { format }: Pick<Image, 'format'>,
): InstallObstacle | null {
  if (format === null || format === 'raw' || format === 'gzip') return null;
  const bootables = bootable(bootDir, profile, arch, INTERFACES.formats);
  return 'code' in bootables ? bootables : null;
}

/** The interface that the installer needs, so that it neither writes to another disk nor drops the user data. */
function interfaceOf({ disk, userData, networkConfig }: InstallProfile): number {
  if (disk !== null) return INTERFACES.diskRules;
  return userData === '' && networkConfig === '' ? INTERFACES.images : INTERFACES.userData;
}

/** The profile with the files for the node's architecture. */
function bootable(
  bootDir: string,
  profile: InstallProfile,
  arch: string,
  needed: number,
): InstallProfile | InstallObstacle {
  const ofArch = installerArchOf(arch);
  const forArch = profileFor(profile, ofArch);
  const missing = [forArch.kernel, forArch.initrd].find((path) => !isBootFile(bootDir, path));
  if (missing !== undefined) return bootFileMissing(missing, profile, ofArch);
  const problem = isOwnInstallerFile(profile.initrd)
    ? ownInitrdProblem(bootDir, forArch.initrd, needed)
    : null;
  return problem === null ? forArch : installerOutdated(forArch.initrd, ofArch, problem);
}

/** Why the existing build of Ingot's installer must not be served; null: it may. */
function ownInitrdProblem(bootDir: string, initrd: string, needed: number): string | null {
  const file = join(bootDir, initrd);
  const manifest = join(dirname(file), INSTALLER_MANIFEST);
  const isThere = statSync(manifest, { throwIfNoEntry: false })?.isFile() === true;
  const read = isThere ? readManifest(readFileSync(manifest, 'utf8')) : null;
  return manifestProblem(read, statSync(file).size, needed);
}

/** Why the installer of this profile can't be booted from a disc, and get its parameters from the server then; null: it can. */
export function discObstacle(
  { bootDir }: Pick<InstallPlanDependencies, 'bootDir'>,
  { name, initrd }: InstallProfile,
  arch: InstallerArch,
): string | null {
  if (initrd !== installerFile(BUILT_IN_PROFILE.initrd, arch))
    return `workflow ${name} boots another initramfs than that of Ingot's installer`;
  const problem = ownInitrdProblem(bootDir, initrd, INTERFACES.discs);
  return (
    problem &&
    `the installer of this server can't be booted from a disc: ${problem}; build it again with ${buildCommand(arch)}`
  );
}

/** The profile that erases the node: the site's, or the built-in one. */
export async function readErasePlan(
  dependencies: InstallPlanDependencies,
  session: Session,
  { facts }: Node,
): Promise<InstallProfile | InstallObstacle> {
  const profile = await knownProfile(dependencies, session, ERASE_PROFILE_NAME);
  return preparedErase(dependencies, profile, facts.arch);
}

export function preparedErase(
  { bootDir }: Pick<InstallPlanDependencies, 'bootDir'>,
  profile: InstallProfile | null,
  arch: string,
): InstallProfile | InstallObstacle {
  return profile ? bootable(bootDir, profile, arch, INTERFACES.erasing) : profileMissing(ERASE_PROFILE_NAME);
}

/** The profile that tests the machine. */
export function preparedBurnIn(
  { bootDir }: Pick<InstallPlanDependencies, 'bootDir'>,
  request: BurnInRequest,
  arch: string,
): InstallProfile | InstallObstacle {
  return bootable(bootDir, burnInProfile(request), arch, INTERFACES.burnIn);
}

/** Ingot's installer has files for each architecture; other files are used as they are. */
function profileFor(profile: InstallProfile, arch: InstallerArch): InstallProfile {
  const file = (path: string) => (isOwnInstallerFile(path) ? installerFile(path, arch) : path);
  return { ...profile, kernel: file(profile.kernel), initrd: file(profile.initrd) };
}

/** Files at a URL are not checked. */
function isBootFile(bootDir: string, path: string): boolean {
  if (path.includes('://')) return true;
  return statSync(join(bootDir, path), { throwIfNoEntry: false })?.isFile() === true;
}

function profileMissing(name: string): InstallObstacle {
  return {
    code: 'WORKFLOW_NOT_FOUND',
    problem: `there is no workflow ${name}`,
    fix: 'create it with `ingot workflow create -f FILE`, or give the node one of `ingot workflow list`',
  };
}

function erasesOnly(): InstallObstacle {
  return {
    code: 'WORKFLOW_NOT_FOUND',
    problem: `workflow ${ERASE_PROFILE_NAME} erases machines, and installs nothing`,
    fix: 'give the node another one of `ingot workflow list`',
  };
}

function bootFileMissing(path: string, profile: InstallProfile, arch: InstallerArch): InstallObstacle {
  const isOwn = [profile.kernel, profile.initrd].some(
    (own) => isOwnInstallerFile(own) && installerFile(own, arch) === path,
  );
  if (isOwn) {
    return {
      code: 'INSTALLER_NOT_BUILT',
      problem: `this server has no installer for ${arch} machines (boot/${path})`,
      fix: `build it on the server's host with ${buildCommand(arch)}`,
    };
  }
  return {
    code: 'BOOT_FILE_MISSING',
    problem: `workflow ${profile.name} boots boot/${path}, and this server has no such file`,
    fix: "put it into the server's data directory, or name another in the workflow with `ingot workflow create -f FILE`",
  };
}

function installerOutdated(path: string, arch: InstallerArch, problem: string): InstallObstacle {
  return {
    code: 'INSTALLER_NOT_BUILT',
    problem: `this server's installer for ${arch} machines is not one for its version: ${problem} (boot/${path})`,
    fix: `build it again on the server's host with ${buildCommand(arch)}`,
  };
}

function buildCommand(arch: InstallerArch): string {
  return `\`ingot installer build${arch === 'x86_64' ? '' : ` --arch ${arch}`}\``;
}

function noImageNamed(profileName: string): InstallObstacle {
  return {
    code: 'NO_IMAGE',
    problem: `workflow ${profileName} names no image`,
    fix: 'add one with `ingot image add NAME FILE`, name it in a workflow with `ingot workflow create -f FILE`, and give the node that workflow',
  };
}

export function imageMissing(name: string): InstallObstacle {
  return {
    code: 'IMAGE_NOT_FOUND',
    problem: `there is no image ${name}`,
    fix: `add it with \`ingot image add ${name} FILE\``,
  };
}

/** What is missing for the installation that the node's profile describes; null: nothing. */
async function obstacleOf(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<InstallObstacle | null> {
  // An approval is about the profile, not about the order of an operation that has ended.
  const asked = { ...node, order: { ...node.order, image: '' } };
  const plan = await readInstallPlan(dependencies, session, asked);
  return 'code' in plan ? plan : null;
}

/**
 * What is missing for a node that is to be installed or erased, for the answer of the call that set its state anyway;
 * null: nothing. Until it exists, the node boots from its disk.
 */
export async function stillMissing(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<string | null> {
  const obstacle = await obstacleInState(dependencies, session, node);
  return obstacle && `${obstacle.problem}, so it boots from its disk; ${obstacle.fix}`;
}

async function obstacleInState(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<InstallObstacle | null> {
  if (node.state === 'pending') return obstacleOf(dependencies, session, node);
  if (node.state !== 'deprovisioning') return null;
  const plan = await readErasePlan(dependencies, session, node);
  return 'code' in plan ? plan : null;
}

/**
 * Refuses to set a node to pending when it cannot be installed. A profile without an image is allowed: an operation
 * can name one, and the node can get another profile before it boots; until then it boots from its disk and reports
 * why.
 */
export async function checkMayPend(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<void> {
  const obstacle = await obstacleOf(dependencies, session, node);
  if (obstacle && obstacle.code !== 'NO_IMAGE') throw cantInstall(node, obstacle);
}

/** Refuses to approve a node that cannot be installed: it would boot from its disk every time. */
export async function checkApproval(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<void> {
  const obstacle = await obstacleOf(dependencies, session, node);
  if (obstacle) throw cantInstall(node, obstacle);
}

function cantInstall(node: Node, { code, problem, fix }: InstallObstacle): Fault {
  return unmetPrecondition(code, {
    message: `The node can't be installed: ${problem}; ${fix}`,
    metadata: { workflow: profileNameOf(node) },
    violations: [{ subject: 'install', description: `${problem}; ${fix}` }],
  });
}
