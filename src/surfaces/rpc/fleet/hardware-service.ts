/** baremetal.fleet.v1.HardwareService: what machines are made of, and what changed. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import { Fault, invalidField } from '../../../domain/error/fault.ts';
import { judgeHardware } from '../../../domain/hardware/hardware-profile.ts';
import {
  type HardwareVersion,
  hardwareChanges,
  INVENTORY_SOURCE_NAMES,
  type InventorySource,
  type KeptInventory,
} from '../../../domain/install/hardware-inventory.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import { checkMachineId, checkRequestId } from '../../../domain/machine/machine-input.ts';
import {
  type DiffHardwareRequest,
  type HardwareChangeSchema,
  type HardwareDiffSchema,
  HardwareService,
  type ListHardwareChangesRequest,
  type ListHardwareChangesResponseSchema,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { inspectMachine } from '../../../operations/start/inspect-machine.ts';
import { findHardwareInventories } from '../../../store/hardware/hardware-inventories.ts';
import { listHardwareProfiles } from '../../../store/hardware/hardware-profiles.ts';
import {
  findHardwareVersion,
  listHardwareVersions,
  type StoredVersion,
  type VersionPlace,
} from '../../../store/hardware/hardware-versions.ts';
import { pageToken, readPageToken } from '../page-token.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';
import { startOptions } from '../start-options.ts';
import { agentsOf } from '../v2/agents-of.ts';
import { operationMessage } from '../v2/to-proto.ts';
import { burnIn } from './burn-in-message.ts';
import { eraseCertificate } from './erase-certificate-message.ts';
import { agentHardware, hardwareMessage, verdictFields } from './hardware-message.ts';
import { profileHandlers } from './hardware-profile-handlers.ts';
import { lemonHandlers } from './lemon-handlers.ts';
import { sensorHandlers } from './sensor-handlers.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 500;

export function hardwareService(dependencies: ServerDependencies): Service {
  const { database } = dependencies;
  return defineService(
    HardwareService,
    {
      async getHardware(request, { caller }) {
        const machine = await knownMachine(dependencies, request.machineId, caller);
        const { machineId } = machine;
        const kept = await findHardwareInventories(database, machineId);
        const agent = (await agentsOf(dependencies, [machine])).get(machineId);
        const profiles = await listHardwareProfiles(database, caller.scope);
        return {
          ...hardwareMessage(machineId, kept, agentHardware(agent ?? null)),
          ...verdictFields(judgeHardware(machine, profiles)),
        };
      },
      listHardwareChanges: (request, { caller }) => listChanges(dependencies, request, caller),
      async diffHardware(request, { caller }) {
        const { machineId } = await knownMachine(dependencies, request.machineId, caller);
        return diffOf(dependencies, machineId, request);
      },
      async inspectMachine(request, { caller }) {
        const call = {
          machineId: checkMachineId(request.machineId),
          requestId: checkRequestId(request.requestId),
          actor: caller.actor,
          scope: caller.scope,
          ...startOptions({ reason: request.reason, overrideBudget: false }, caller),
        };
        const way = request.inBand ? 'in-band' : 'out-of-band';
        const operation = await inspectMachine(dependencies, call, way);
        return operationMessage(operation);
      },
      getEraseCertificate: (request, { caller }) => eraseCertificate(dependencies, request, caller),
      getBurnIn: (request, { caller }) => burnIn(dependencies, request, caller),
      ...sensorHandlers(dependencies, (id, caller) => knownMachine(dependencies, id, caller)),
      ...lemonHandlers(dependencies, (id, caller) => knownMachine(dependencies, id, caller)),
      ...profileHandlers(dependencies),
    },
    {
      getHardware: 'viewer',
      listHardwareChanges: 'viewer',
      diffHardware: 'viewer',
      inspectMachine: 'operator',
      getEraseCertificate: 'viewer',
      getBurnIn: 'viewer',
      listSensors: 'viewer',
      getSensorHistory: 'viewer',
      listHardwareLog: 'viewer',
      getLemonScore: 'viewer',
      listLemons: 'viewer',
      setHardwareProfile: 'admin',
      listHardwareProfiles: 'viewer',
      deleteHardwareProfile: 'admin',
    },
  );
}

async function knownMachine(
  { machines }: ServerDependencies,
  given: string,
  { scope }: Caller,
): Promise<Machine> {
  const machineId = checkMachineId(given);
  const machine = await machines.find(machineId, scope);
  if (!machine) throw machineNotFound(machineId);
  return machine;
}

function readSource(given: string): InventorySource | null {
  if (given === '') return null;
  const source = INVENTORY_SOURCE_NAMES.find((name) => name === given);
  if (source !== undefined && source !== 'agent') return source;
  throw invalidField('source', 'must be bmc or installer, or empty');
}

async function listChanges(
  dependencies: ServerDependencies,
  request: ListHardwareChangesRequest,
  caller: Caller,
): Promise<MessageInitShape<typeof ListHardwareChangesResponseSchema>> {
  const { scope } = caller;
  const machineId =
    request.machineId === '' ? null : (await knownMachine(dependencies, request.machineId, caller)).machineId;
  const source = readSource(request.source);
  if (request.pageSize < 0) throw invalidField('page_size', 'must not be negative');
  const size = request.pageSize === 0 ? DEFAULT_PAGE : Math.min(request.pageSize, MAX_PAGE);
  const paged = { list: 'hardware-changes', filter: `${machineId ?? ''} ${source ?? ''}`, scope };
  const after = readPlace(readPageToken(paged, request.pageToken));
  const found = await listHardwareVersions(dependencies.database, {
    machineId,
    source,
    scope,
    after,
    limit: size + 1,
  });
  const page = found.slice(0, size);
  const last = found.length > size ? page.at(-1) : undefined;
  return {
    changes: page.map(changeMessage),
    nextPageToken: pageToken(paged, last === undefined ? null : placeText(last)),
  };
}

/** A page token holds one word. */
function placeText({ foundAt, machineId, source, version }: VersionPlace): string {
  return [foundAt.getTime(), source, version, machineId].join('/');
}

function readPlace(text: string): VersionPlace | null {
  const [, at, source = '', version, machineId = ''] = /^(\d+)\/(\w+)\/(\d+)\/(.+)$/.exec(text) ?? [];
  if (at === undefined) return null;
  return { foundAt: new Date(Number(at)), source, version: Number(version), machineId };
}

function changeMessage(found: HardwareVersion): MessageInitShape<typeof HardwareChangeSchema> {
  return {
    machineId: found.machineId,
    source: found.source,
    version: found.version,
    foundAt: timestampFromDate(found.foundAt),
    foundBy: found.foundBy,
    operationId: found.operationId ?? '',
    changes: [...found.changes],
  };
}

async function diffOf(
  { database }: ServerDependencies,
  machineId: string,
  request: DiffHardwareRequest,
): Promise<MessageInitShape<typeof HardwareDiffSchema>> {
  const kept = chosen(await findHardwareInventories(database, machineId), readSource(request.source));
  if (kept === null) throw noVersion(machineId, request.source || 'any source', 1);
  const { source } = kept;
  const to = await versionAt(request.toVersion || kept.version);
  const from = await versionAt(request.fromVersion || Math.max(1, to.version - 1));
  return {
    machineId,
    source,
    fromVersion: from.version,
    toVersion: to.version,
    fromAt: timestampFromDate(from.foundAt),
    toAt: timestampFromDate(to.foundAt),
    changes: hardwareChanges(from.inventory, to.inventory),
  };

  async function versionAt(version: number): Promise<StoredVersion> {
    if (version < 0) throw invalidField('version', 'must not be negative');
    const found = await findHardwareVersion(database, machineId, source, version);
    if (found === null) throw noVersion(machineId, source, version);
    return found;
  }
}

function chosen(kept: readonly KeptInventory[], source: InventorySource | null): KeptInventory | null {
  if (source !== null) return kept.find((one) => one.source === source) ?? null;
  const [first] = [...kept].sort(
    (left, right) =>
      INVENTORY_SOURCE_NAMES.indexOf(left.source) - INVENTORY_SOURCE_NAMES.indexOf(right.source),
  );
  return first ?? null;
}

function noVersion(machineId: string, source: string, version: number): Fault {
  return new Fault('NO_HARDWARE_VERSION', {
    message: `${machineId} has no version ${version} of its hardware from ${source}`,
    metadata: { machine_id: machineId, source, version: String(version) },
    violations: [
      { subject: `machines/${machineId}`, description: `has no version ${version} of its hardware` },
    ],
  });
}
