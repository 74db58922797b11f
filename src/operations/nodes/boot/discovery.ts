/**
 * Machines that the server does not know yet. Anyone on the boot network can claim a MAC address, so this is the one place that
 * makes a machine of one, and it asks first whether it may.
 */
import { Fault } from '../../../domain/error/fault.ts';
import type { HardwareFacts } from '../../../domain/install/node.ts';
import { networkKey } from '../../../domain/limit/address-key.ts';
import type { KeyedRate } from '../../../domain/limit/keyed-rate.ts';
import { countDiscovered } from '../../../store/nodes/node-lists.ts';
import { findNodeIdByMac, machinesWithMac } from '../../../store/nodes/nodes.ts';
import { type ApprovalDependencies, approveByRule } from '../node-approval.ts';
import { addNode } from '../nodes.ts';

export interface DiscoveryDependencies extends ApprovalDependencies {
  /** Whether a machine that asks from this address is taken in. */
  readonly discovers: (address: string) => boolean;
  /** New machines of a network, by its key: room for one more, or the seconds until there is. */
  readonly discoveryRate: KeyedRate;
  /** The limit of machines that wait for approval; others are not added. */
  readonly maxDiscovered: number;
  readonly logRefused: (entry: Readonly<Record<string, unknown>>, message: string) => void;
}

export interface UnknownMachine {
  readonly mac: string;
  /** The address that it asks or reports from. */
  readonly address: string;
  readonly facts: HardwareFacts;
}

/** Why a machine is not taken in. */
export interface NotTakenIn {
  readonly refused: Fault;
}

export interface FoundNode {
  readonly id: string;
  /** It was unknown before. */
  readonly isNew: boolean;
}

/** The node with this address, added if there was none. */
async function discover(
  dependencies: DiscoveryDependencies,
  machine: UnknownMachine,
): Promise<FoundNode | NotTakenIn> {
  const { mac, facts } = machine;
  const known = await findNodeIdByMac(dependencies.database, mac);
  if (known !== null) return { id: known, isNew: false };
  const obstacle = await discoveryObstacle(dependencies, machine);
  if (obstacle) return obstacle;
  const added = await addNode(
    dependencies,
    { macAddress: mac, facts, profile: '', tags: [] },
    { kind: 'node_report', id: mac, ...(dependencies.origin && { origin: dependencies.origin }) },
  );
  if (added) return { id: added.machineId, isNew: true };
  const other = await findNodeIdByMac(dependencies.database, mac);
  if (other !== null) return { id: other, isNew: false };
  dependencies.logRefused({ mac_address: mac }, 'several machines claim this MAC address');
  return tooMany(mac);
}

/** Null: it may be added. A machine that is in the inventory is not unknown: it becomes a node wherever it boots. */
async function discoveryObstacle(
  dependencies: DiscoveryDependencies,
  { mac, address }: UnknownMachine,
): Promise<NotTakenIn | null> {
  const { database, discovers, discoveryRate, maxDiscovered, logRefused } = dependencies;
  if (!discovers(address) && (await machinesWithMac(database, mac)).length === 0) {
    logRefused(
      { mac_address: mac, address },
      'discovery is off for this address; the machine is not taken in',
    );
    return discoveryOff(mac);
  }
  const network = networkKey(address);
  const retryAfterSeconds = discoveryRate.take(network);
  if (retryAfterSeconds !== null) return tooFast(mac, network, retryAfterSeconds);
  if ((await countDiscovered(database)) < maxDiscovered) return null;
  logRefused({ mac_address: mac }, 'too many machines wait for approval; this one is not taken in');
  return tooMany(mac);
}

function discoveryOff(mac: string): NotTakenIn {
  const message = 'no machine of this network is taken in: it is unknown, and discovery is off for it';
  return { refused: new Fault('DISCOVERY_OFF', { message, metadata: { mac_address: mac } }) };
}

function tooFast(mac: string, network: string, retryAfterSeconds: number): NotTakenIn {
  const message = `too many new machines from ${network}; try again later`;
  const metadata = { mac_address: mac, network };
  return { refused: new Fault('DISCOVERY_TOO_FAST', { message, metadata, retryAfterSeconds }) };
}

function tooMany(mac: string): NotTakenIn {
  const message = 'too many machines wait for approval, or several machines claim this MAC address';
  return { refused: new Fault('TOO_MANY_DISCOVERED', { message, metadata: { mac_address: mac } }) };
}

/** The node of a machine that reports; one that is not taken in is refused. */
export async function nodeThatReports(
  dependencies: DiscoveryDependencies,
  machine: UnknownMachine,
): Promise<FoundNode> {
  const found = await discover(dependencies, machine);
  if ('id' in found) return found;
  throw found.refused;
}

/** The node of a machine that boots, after the approval rules were applied. */
export async function nodeThatBoots(
  dependencies: DiscoveryDependencies,
  machine: UnknownMachine,
): Promise<FoundNode | NotTakenIn> {
  const found = await discover(dependencies, machine);
  if ('id' in found && dependencies.approvalRules.length > 0) await approveByRule(dependencies, found.id);
  return found;
}
