/**
 * What a node is installed with, and what is missing for it: one answer for approvals, operations and boots. Kernels and
 * initramfs are files of the server that is asked; replicas on several hosts share a data directory, or each must have them.
 */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Fault, unmetPrecondition } from '../../domain/error/fault.ts';
import { type InstallerArch, installerArchOf, installerFile } from '../../domain/install/architecture.ts';
import {
  builtInProfile,
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
  /** Those of the configuration, by name; they win over stored ones. */
  readonly profiles: ReadonlyMap<string, InstallProfile>;
  /** Where the files are that machines boot. */
  readonly bootDir: string;
}

export interface ServedImage {
  /** Empty for one that comes from elsewhere. */
  readonly name: string;
  readonly url: string | null;
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface InstallPlan {
  /** With the kernel and initramfs for the node's architecture. */
  readonly profile: InstallProfile;
  /** Null: what the install profile boots asks for none. */
  readonly image: ServedImage | null;
}

export type ObstacleCode =
  | 'WORKFLOW_NOT_FOUND'
  | 'INSTALLER_NOT_BUILT'
  | 'BOOT_FILE_MISSING'
  | 'NO_IMAGE'
  | 'IMAGE_NOT_FOUND';

/** Why a node can't be installed, and the command that changes it. */
export interface InstallObstacle {
  readonly code: ObstacleCode;
  readonly problem: string;
  readonly fix: string;
}

/** What an installation is decided by, wherever it was read. */
export interface InstallFactsOfNode {
  readonly profileName: string;
  readonly profile: InstallProfile | null;
  /** As the node says it; empty: not known. */
  readonly arch: string;
  /** The image that an operation named; empty: the install profile's own. */
  readonly orderedImage: string;
}

export function profileNameOf(node: Pick<Node, 'profile'>): string {
  return node.profile === '' ? DEFAULT_PROFILE_NAME : node.profile;
}

export async function knownProfile(
  { profiles }: Pick<InstallPlanDependencies, 'profiles'>,
  session: Session,
  name: string,
): Promise<InstallProfile | null> {
  const stored = profiles.get(name) ?? (await findInstallProfile(session, name));
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
  if ('url' in wanted) return { profile, image: { name: '', ...wanted } };
  const image = await findImage(session, wanted.name);
  if (!image) return imageMissing(wanted.name);
  const obstacle = formatObstacle(dependencies, profile, node.facts.arch, image);
  if (obstacle) return obstacle;
  return {
    profile,
    image: { name: image.name, url: null, sha256: image.sha256, sizeBytes: image.sizeBytes },
  };
}

/** All but whether there is such an image. */
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

/** An installer that does not know the image's format would write the file as it is. Null: it knows it. */
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

/** What the installer must understand, or it would write to another disk, or leave out the user data. */
function interfaceOf({ disk, userData, networkConfig }: InstallProfile): number {
  if (disk !== null) return INTERFACES.diskRules;
  return userData === '' && networkConfig === '' ? INTERFACES.images : INTERFACES.userData;
}

/** The install profile as the node's architecture boots it. */
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

/** Why Ingot's own installer, which is there, must not be served; null: it may. */
function ownInitrdProblem(bootDir: string, initrd: string, needed: number): string | null {
  const file = join(bootDir, initrd);
  const manifest = join(dirname(file), INSTALLER_MANIFEST);
  const isThere = statSync(manifest, { throwIfNoEntry: false })?.isFile() === true;
  const read = isThere ? readManifest(readFileSync(manifest, 'utf8')) : null;
  return manifestProblem(read, statSync(file).size, needed);
}

/** What erases the node: the site's install profile of that name, or Ingot's own. */
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

/** Ingot's own installer has files for each architecture; what an install profile brings of its own is taken as it is. */
function profileFor(profile: InstallProfile, arch: InstallerArch): InstallProfile {
  const file = (path: string) => (isOwnInstallerFile(path) ? installerFile(path, arch) : path);
  return { ...profile, kernel: file(profile.kernel), initrd: file(profile.initrd) };
}

/** What another server serves is not looked for here. */
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
      fix: `build it on the server’s host with ${buildCommand(arch)}`,
    };
  }
  return {
    code: 'BOOT_FILE_MISSING',
    problem: `workflow ${profile.name} boots boot/${path}, and this server has no such file`,
    fix: 'put it into the server’s data directory, or name another in the workflow with `ingot workflow create -f FILE`',
  };
}

function installerOutdated(path: string, arch: InstallerArch, problem: string): InstallObstacle {
  return {
    code: 'INSTALLER_NOT_BUILT',
    problem: `this server’s installer for ${arch} machines is not one for its version: ${problem} (boot/${path})`,
    fix: `build it again on the server’s host with ${buildCommand(arch)}`,
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

/** What is missing for the installation that the node's install profile describes; null: nothing. */
async function obstacleOf(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<InstallObstacle | null> {
  // Who approves wants what the install profile says, not what an operation that is over had ordered.
  const asked = { ...node, order: { ...node.order, image: '' } };
  const plan = await readInstallPlan(dependencies, session, asked);
  return 'code' in plan ? plan : null;
}

/**
 * What a node lacks that is to be installed or erased, for the answer of a call that set its state all the same; null:
 * nothing. Until it is there, the node boots from its disk.
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
 * Whether a node may be set to pending. One whose install profile names no image may: an operation can name it, and the node can get
 * another install profile before it boots; until then it boots from its disk and says why.
 */
export async function checkMayPend(
  dependencies: InstallPlanDependencies,
  session: Session,
  node: Node,
): Promise<void> {
  const obstacle = await obstacleOf(dependencies, session, node);
  if (obstacle && obstacle.code !== 'NO_IMAGE') throw cantInstall(node, obstacle);
}

/** Whether a node may be approved: one that nothing can install would boot from its disk at every boot. */
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
