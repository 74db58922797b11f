/** The install layer as providers use it for operations. */

import { failureOf } from '../../domain/error/failure.ts';
import { builtInProfile, ERASE_PROFILE_NAME } from '../../domain/install/install-profile.ts';
import { MAX_INSTALL_ATTEMPTS, type Node, recordFromNextBoot } from '../../domain/install/node.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type {
  InstallFacts,
  InstallOrderRequest,
  InstallOrderView,
  NetworkInstalls,
} from '../../providers/network-installs.ts';
import type { Session } from '../../store/database/database.ts';
import { findMachine } from '../../store/machines/machines.ts';
import { forgetBootUrl, machineOfBootUrl } from '../../store/nodes/boot-urls.ts';
import { findImage, listImages } from '../../store/nodes/images.ts';
import {
  findInsertedMedia,
  forgetInsertedMedia,
  type InsertedMedia,
  isInsertedMedia,
  storeInsertedMedia,
  triedToEject,
} from '../../store/nodes/inserted-media.ts';
import { findNode, type LockedNode, type NodeChange } from '../../store/nodes/nodes.ts';
import { createBurnInOrders } from '../hardware/burn-in-orders.ts';
import type { BootDependencies } from './boot/node-boot.ts';
import { bootUrlForOperation, type ServerUrls, secretOfBootUrl } from './boot/operation-boot-url.ts';
import type { UnifiedDependencies } from './boot/unified-boot.ts';
import { ERASABLE, eraseGivenUp, eraseOrdered, notErasable } from './erase-orders.ts';
import {
  formatObstacle,
  type InstallFactsOfNode,
  imageMissing,
  knownProfile,
  type ObstacleCode,
  preparedErase,
  preparedInstall,
  profileNameOf,
} from './install-plan.ts';
import { moveNode, type NodeCause } from './node-changes.ts';
import { NO_FACTS } from './node-input.ts';
import { addNode, changeAndLog } from './nodes.ts';

interface InstallDependencies extends BootDependencies, UnifiedDependencies {}

/** The transitions that bring a node into the queue, by its state. */
const WAY_TO_PENDING = {
  discovered: ['pending'],
  pending: [],
  installing: ['install_failed', 'pending'],
  install_failed: ['pending'],
  installed: ['reprovision', 'pending'],
  active: ['reprovision', 'pending'],
  reprovision: ['pending'],
  deprovisioning: null,
  migrating: null,
  retired: null,
} as const satisfies Record<Node['state'], readonly Node['state'][] | null>;

export function createNetworkInstalls(
  dependencies: InstallDependencies,
  serverUrls: ServerUrls,
): NetworkInstalls {
  const { database } = dependencies;
  return {
    checkStart(machine, image, facts) {
      checkInstallable(machine, facts);
      const node = facts.nodes.get(machine.machineId);
      const name = profileNameOf({ profile: node?.profile ?? '' });
      const profile = dependencies.profiles.get(name) ?? facts.profiles.get(name) ?? builtInProfile(name);
      const { arch = '' } = node ?? {};
      const wanted = imageWanted(dependencies, { profileName: name, profile, arch, orderedImage: image });
      if (wanted !== null && !facts.images.includes(wanted)) throw noImage(wanted, facts.images);
    },

    async read(machineId) {
      const node = await findNode(database, machineId);
      return node ? viewOf(node, await findInsertedMedia(database, machineId)) : null;
    },

    async order(machineId, request) {
      await ensureNode(dependencies, machineId);
      await changeAndLog(dependencies, machineId, async (locked, session) => {
        if (isQueuedFor(locked.node, request)) return takenOver(locked, request);
        await checkImage(dependencies, session, locked.node, request.image);
        return queued(dependencies, locked, request);
      });
    },

    checkErase(machine, facts) {
      const node = facts.nodes.get(machine.machineId);
      if (node === undefined) throw neverBooted();
      if (!ERASABLE.includes(node.state)) throw notErasable(node.state);
      const name = ERASE_PROFILE_NAME;
      const profile = dependencies.profiles.get(name) ?? facts.profiles.get(name) ?? builtInProfile(name);
      const prepared = preparedErase(dependencies, profile, node.arch);
      if ('code' in prepared) throw permanent(prepared.code, `${prepared.problem}; ${prepared.fix}`);
    },

    async orderErase(machineId, request) {
      if ((await findNode(database, machineId)) === null) throw neverBooted();
      await changeAndLog(dependencies, machineId, (locked) =>
        eraseOrdered(locked, request, systemCause(dependencies, request.operationId, '')),
      );
    },

    burnIns: createBurnInOrders(dependencies, (machineId) => ensureNode(dependencies, machineId)),
    issueBootUrl: (machineId, request) => bootUrlForOperation(dependencies, serverUrls, machineId, request),
    dropBootUrl: (machineId) => forgetBootUrl(database, machineId),
    isCurrentBootUrl: async (machineId, url) => {
      const secret = secretOfBootUrl(url);
      return secret !== null && (await machineOfBootUrl(database, secret)) === machineId;
    },
    ...mediaOf(dependencies),

    async sentIntoBoot(machineId, operationId) {
      if ((await findNode(database, machineId)) === null) return;
      await changeAndLog(dependencies, machineId, ({ machine, node }) => {
        // A power cycle also brings a node into the boot that an admin ordered.
        if (node.order.operationId !== null && node.order.operationId !== operationId) return null;
        return {
          machine,
          events: [],
          node: { ...node, order: { ...node.order, kickedAt: dependencies.now() } },
        };
      });
    },

    async giveUp(machineId, operationId, reason) {
      if ((await findNode(database, machineId)) === null) return;
      await changeAndLog(dependencies, machineId, (locked) => {
        const { node } = locked;
        // A queued node stays queued and is not served: its operation has ended.
        if (node.order.operationId !== operationId) return null;
        const cause = systemCause(dependencies, operationId, reason);
        if (node.state !== 'installing') return eraseGivenUp(locked, cause);
        const moved = moveNode(locked, 'install_failed', cause);
        return {
          ...moved,
          node: { ...moved.node, installRecord: { ...moved.node.installRecord, lastError: reason } },
        };
      });
    },
  };
}

function mediaOf({
  database,
  now,
}: InstallDependencies): Pick<
  NetworkInstalls,
  'insertsMedia' | 'hasInsertedMedia' | 'isInsertedMedia' | 'ejectedMedia'
> {
  return {
    async insertsMedia(machineId, operationId, url) {
      const secret = secretOfBootUrl(url);
      if (secret === null) throw new TypeError('only the disc of a one-time URL is kept in mind');
      await storeInsertedMedia(database, machineId, { operationId, secret, at: now() });
    },
    hasInsertedMedia: async (machineId) => (await findInsertedMedia(database, machineId)) !== null,
    async isInsertedMedia(machineId, url) {
      const secret = secretOfBootUrl(url);
      return secret !== null && isInsertedMedia(database, machineId, secret);
    },
    ejectedMedia: (machineId, result) =>
      result === 'out' ? forgetInsertedMedia(database, machineId) : triedToEject(database, machineId),
  };
}

function viewOf(node: Node, media: InsertedMedia | null): InstallOrderView {
  const { installRecord, order } = node;
  const times = [node.stateChangedAt, order.wantedAt, order.kickedAt, node.lastSeenAt];
  const lastActivity = Math.max(...times.map((time) => time?.getTime() ?? 0));
  return {
    state: node.state,
    progress: installRecord.progress,
    attempts: installRecord.attempts,
    lastError: installRecord.lastError,
    operationId: order.operationId,
    key: order.key,
    image: order.image,
    hasBooted: node.bootsIssued >= installRecord.firstBootNo,
    wasSent: order.kickedAt !== null,
    bootEnded: installRecord.bootEnded,
    isAtWork: installRecord.bootNo >= installRecord.firstBootNo && !installRecord.bootEnded,
    isGivenUp: installRecord.attempts >= MAX_INSTALL_ATTEMPTS,
    erasure: node.erasure,
    hasUsedMedia: media?.isUsed === true && !media.wasTried,
    lastActivityAt: new Date(lastActivity),
  };
}

/** A machine that never booted from the network becomes a node with the first MAC address of its spec. */
async function ensureNode(dependencies: BootDependencies, machineId: string): Promise<void> {
  if (await findNode(dependencies.database, machineId)) return;
  const macAddress = (await findMachine(dependencies.database, machineId))?.spec.mac_addresses[0];
  if (macAddress === undefined) throw noMacAddress();
  const adding = { macAddress, facts: NO_FACTS, profile: '', tags: [] };
  const node = await addNode(dependencies, adding, { kind: 'system', id: 'operation' });
  if (node?.machineId === machineId || (await findNode(dependencies.database, machineId))) return;
  throw permanent('MAC_TAKEN', `another machine has the MAC address ${macAddress}, too`);
}

function isQueuedFor({ state, order }: Node, request: InstallOrderRequest): boolean {
  const isOpen = state === 'pending' || state === 'installing';
  const isSame = order.operationId === request.operationId && order.image === request.image;
  return isOpen && isSame && (order.key === '' || order.key === request.key);
}

function takenOver({ machine, node }: LockedNode, { key }: InstallOrderRequest): NodeChange | null {
  if (node.order.key === key) return null;
  return { machine, events: [], node: { ...node, order: { ...node.order, key } } };
}

/** An order that cannot be served is not queued: the machine would be rebooted for nothing. */
async function checkImage(
  dependencies: BootDependencies,
  session: Session,
  node: Node,
  image: string,
): Promise<void> {
  const profileName = profileNameOf(node);
  const profile = await knownProfile(dependencies, session, profileName);
  const { arch } = node.facts;
  const wanted = imageWanted(dependencies, { profileName, profile, arch, orderedImage: image });
  if (wanted === null) return;
  const found = await findImage(session, wanted, null);
  if (!found) {
    throw noImage(
      wanted,
      // The machine's tenant reads this: images of other scopes are not named.
      (await listImages(session, null)).flatMap(({ name, scopeTerms }) =>
        scopeTerms.length > 0 ? [] : name,
      ),
    );
  }
  const obstacle = profile && formatObstacle(dependencies, profile, arch, found);
  if (obstacle) throw permanent(obstacle.code, `${obstacle.problem}; ${obstacle.fix}`);
}

/** The name of the image that must be in the store; null: the profile uses a URL or none. */
function imageWanted(dependencies: BootDependencies, facts: InstallFactsOfNode): string | null {
  const prepared = preparedInstall(dependencies, facts);
  if ('code' in prepared) throw permanent(prepared.code, `${prepared.problem}; ${prepared.fix}`);
  const { wanted } = prepared;
  return wanted !== null && 'name' in wanted ? wanted.name : null;
}

const MAX_NAMED_IMAGES = 20;

function noImage(wanted: string, known: readonly string[]): StepFailure {
  const named = known.slice(0, MAX_NAMED_IMAGES).join(', ');
  const others = known.length > MAX_NAMED_IMAGES ? ', …' : '';
  const there = known.length === 0 ? 'there are none' : `there are ${named}${others}`;
  const { code, problem, fix } = imageMissing(wanted);
  return permanent(code, `${problem}; ${there}; ${fix}`);
}

function noMacAddress(): StepFailure {
  const message = 'spec.mac_addresses is empty, and the network knows machines by nothing else';
  return permanent('NO_MAC_ADDRESS', message);
}

function neverBooted(): StepFailure {
  const message = 'it never booted from the network: nothing is known of what is on its disks';
  return new StepFailure({ class: 'needs_human', code: 'WRONG_INSTALL_STATE', message });
}

/** A machine that is not a node yet becomes one by its address. */
function checkInstallable({ machineId, spec }: Machine, { nodes }: InstallFacts): void {
  const node = nodes.get(machineId);
  if (!node && spec.mac_addresses.length === 0) throw noMacAddress();
  if (node && WAY_TO_PENDING[node.state] === null) throw notInstallable(node.state);
}

function notInstallable(state: Node['state']): StepFailure {
  const message = `the node is ${state} and can't be installed`;
  return new StepFailure({ class: 'needs_human', code: 'NODE_NOT_INSTALLABLE', message });
}

function queued(
  dependencies: BootDependencies,
  locked: LockedNode,
  request: InstallOrderRequest,
): NodeChange {
  const { operationId } = request;
  const way = WAY_TO_PENDING[locked.node.state];
  if (way === null) throw notInstallable(locked.node.state);
  const cause = systemCause(dependencies, operationId, '');
  let { machine, node } = locked;
  const events = [];
  for (const state of way) {
    const moved = moveNode({ machine, node }, state, cause);
    ({ machine, node } = moved);
    events.push(...moved.events);
  }
  return {
    machine,
    events,
    node: {
      ...node,
      installRecord: recordFromNextBoot(node),
      order: { ...request, overwrite: 'ends', wantedAt: dependencies.now(), kickedAt: null },
      reporterAddress: '',
    },
  };
}

function systemCause(dependencies: BootDependencies, operationId: string, comment: string): NodeCause {
  return {
    actor: { kind: 'system', id: 'operation' },
    owner: 'system',
    comment,
    metadata: { operation_id: operationId },
    operationId,
    now: dependencies.now(),
  };
}

function permanent(code: ObstacleCode | 'MAC_TAKEN' | 'NO_MAC_ADDRESS', message: string): StepFailure {
  return new StepFailure(failureOf('permanent', code, message));
}
