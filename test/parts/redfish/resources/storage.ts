/** A storage controller with drives and volumes (Storage, Drive, Volume), and the erasure of a drive (Drive.SecureErase). */
import { hardwareTree } from '../simulated-hardware.ts';
import {
  type Answer,
  type Body,
  collection,
  failure,
  link,
  ok,
  type SimulatedNoun,
  type SimulatedRequest,
} from '../simulated-noun.ts';
import { accepted } from '../simulated-tasks.ts';
import type { RedfishSimulator } from '../simulator.ts';

interface SimulatedVolume {
  readonly id: string;
  readonly name: string;
  readonly level: string;
  readonly drives: readonly string[];
  readonly bytes: number;
}

const DRIVE_BYTES = 960_197_124_096;

export class SimulatedStorage {
  /** Whether the machine has it, beside what has no volumes. */
  hasController = false;
  drives = [0, 1, 2, 3].map((bay) => ({ id: `Disk.Bay.${bay}`, serial: `SAS000${bay}`, erasures: 0 }));
  volumes: SimulatedVolume[] = [];
  /** Drives without an erase of their own. */
  unerasable: string[] = [];
  sanitizations = ['BlockErase', 'CryptographicErase', 'Overwrite'];
  #made = 0;

  create(name: string, level: string, drives: readonly string[], bytes = DRIVE_BYTES): void {
    this.#made += 1;
    this.volumes.push({ id: `Volume.${this.#made}`, name, level, drives, bytes });
  }
}

const raidPath = ({ systemPath }: RedfishSimulator) => `${systemPath}/Storage/RAID.1`;
const drivePath = (bmc: RedfishSimulator, id: string) => `${raidPath(bmc)}/Drives/${id}`;
const volumesPath = (bmc: RedfishSimulator) => `${raidPath(bmc)}/Volumes`;

export const storage: SimulatedNoun = {
  routes: {
    'GET {system}/Storage': (request) => {
      const { bmc, path } = request;
      const { collections, resources } = hardwareTree(bmc);
      const others = collections.get(path) ?? [];
      const all = bmc.storage.hasController ? [...others, raidPath(bmc)] : others;
      return collection(request, all, (at) => (at === raidPath(bmc) ? controller(bmc) : resources.get(at)));
    },
    'GET {system}/Storage/RAID.1': ({ bmc }) => (bmc.storage.hasController ? ok(controller(bmc)) : null),
    'GET {system}/Storage/RAID.1/Drives/:id': ({ bmc, parameters: { id = '' } }) => {
      const body = driveOf(bmc, id);
      return body ? ok(body) : null;
    },
    'GET {system}/Storage/RAID.1/Volumes': volumes,
    'POST {system}/Storage/RAID.1/Volumes': create,
    'GET {system}/Storage/RAID.1/Volumes/:id': ({ bmc, parameters: { id } }) => {
      const volume = bmc.storage.volumes.find((each) => each.id === id);
      return volume ? ok(volumeOf(bmc, volume)) : null;
    },
    'DELETE {system}/Storage/RAID.1/Volumes/:id': ({ bmc, path, parameters: { id } }) => {
      if (!bmc.storage.volumes.some((each) => each.id === id)) return null;
      const finish = () => {
        bmc.storage.volumes = bmc.storage.volumes.filter((each) => each.id !== id);
      };
      return accepted(bmc.tasks.start({ name: 'Delete Volume', target: path, finish }), bmc.shape);
    },
    'POST {system}/Storage/RAID.1/Drives/:id/Actions/Drive.SecureErase': erase,
  },
};

function controller(bmc: RedfishSimulator): Body {
  return {
    '@odata.id': raidPath(bmc),
    '@odata.type': '#Storage.v1_10_1.Storage',
    Id: 'RAID.1',
    Name: 'RAID controller',
    Drives: bmc.storage.drives.map(({ id }) => link(drivePath(bmc, id))),
    Volumes: link(volumesPath(bmc)),
  };
}

function driveOf(bmc: RedfishSimulator, id: string): Body | null {
  const drive = bmc.storage.drives.find((each) => each.id === id);
  if (!drive) return null;
  const target = `${drivePath(bmc, id)}/Actions/Drive.SecureErase`;
  const { unerasable, sanitizations } = bmc.storage;
  return {
    '@odata.id': drivePath(bmc, id),
    '@odata.type': '#Drive.v1_14_0.Drive',
    Id: id,
    Name: id,
    Model: 'Simulated SAS',
    SerialNumber: drive.serial,
    CapacityBytes: DRIVE_BYTES,
    MediaType: 'SSD',
    Protocol: 'SAS',
    Actions: unerasable.includes(id)
      ? {}
      : {
          '#Drive.SecureErase': {
            target,
            'SanitizationType@Redfish.AllowableValues': sanitizations,
          },
        },
  };
}

function volumeOf(bmc: RedfishSimulator, { id, name, level, drives, bytes }: SimulatedVolume): Body {
  return {
    '@odata.id': `${volumesPath(bmc)}/${id}`,
    '@odata.type': '#Volume.v1_6_2.Volume',
    Id: id,
    Name: name,
    RAIDType: level,
    CapacityBytes: bytes,
    Links: { Drives: drives.map((drive) => link(drivePath(bmc, drive))) },
  };
}

function volumes(request: SimulatedRequest): Answer | null {
  const { bmc, path } = request;
  if (!bmc.storage.hasController) return null;
  const byPath = new Map(bmc.storage.volumes.map((volume) => [`${path}/${volume.id}`, volume]));
  const answer = collection(request, [...byPath.keys()], (at) => {
    const volume = byPath.get(at);
    return volume && volumeOf(bmc, volume);
  });
  const support = { '@Redfish.OperationApplyTimeSupport': { SupportedValues: ['Immediate', 'OnReset'] } };
  return { ...answer, body: { ...(answer.body as Body), ...support } };
}

function create({ bmc, path, body }: SimulatedRequest): Answer | null {
  const links = ((body.Links as Body | undefined)?.Drives ?? []) as ReadonlyArray<Record<string, string>>;
  const drives = links.map((each) => (each['@odata.id'] ?? '').split('/').pop() ?? '');
  const isUsed = bmc.storage.volumes.some((volume) => volume.drives.some((drive) => drives.includes(drive)));
  if (drives.length === 0 || drives.some((id) => !driveOf(bmc, id)))
    return failure(400, 'Base.1.8.PropertyValueNotInList', 'A drive does not exist.');
  if (isUsed) return failure(400, 'StorageDevice.1.0.DriveInUse', 'A drive is part of another volume.');
  const bytes = typeof body.CapacityBytes === 'number' ? body.CapacityBytes : DRIVE_BYTES;
  const finish = () => bmc.storage.create(String(body.Name), String(body.RAIDType), drives, bytes);
  return accepted(bmc.tasks.start({ name: 'Create Volume', target: path, finish }), bmc.shape);
}

function erase({ bmc, path, body, parameters: { id } }: SimulatedRequest): Answer | null {
  const drive = bmc.storage.drives.find((each) => each.id === id);
  if (!drive || bmc.storage.unerasable.includes(drive.id)) return null;
  if (!bmc.storage.sanitizations.includes(String(body.SanitizationType)))
    return failure(400, 'Base.1.8.ActionParameterNotSupported', 'The type is not supported.');
  if (bmc.storage.volumes.some(({ drives }) => drives.includes(drive.id)))
    return failure(400, 'StorageDevice.1.0.DriveInUse', 'The drive is part of a volume.');
  const finish = () => {
    drive.erasures += 1;
  };
  return accepted(bmc.tasks.start({ name: 'Secure Erase', target: path, finish }), bmc.shape);
}
