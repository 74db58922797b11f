/**
 * Volumes of storage controllers (RAID). What is wanted is compared with what is there, and the difference is one change at a time, so that it
 * is read again after each. Nothing is deleted unless that is asked for.
 */
import {
  RAID_LEVELS,
  type RaidLevel,
  type RaidRequest,
  type RaidState,
  type VolumeChange,
  type VolumeRequest,
} from '../../domain/hardware/hardware-change.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { fieldsOf, linkOf, linksOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource, StartedTask } from '../service/redfish-service.ts';
import { readTask, runningTasks } from '../service/redfish-task.ts';

interface Controller {
  readonly id: string;
  readonly collection: Resource;
  readonly drives: ReadonlyArray<{ readonly path: string; readonly names: readonly string[] }>;
  readonly volumes: readonly Volume[];
}

interface Volume {
  readonly path: string;
  readonly name: string;
  readonly level: string;
  readonly drives: readonly string[];
  readonly bytes: number;
}

/** What older services call levels. */
const LEVEL_OF_TYPE: Readonly<Record<string, RaidLevel>> = {
  NonRedundant: 'RAID0',
  Mirrored: 'RAID1',
  StripedWithParity: 'RAID5',
  SpannedMirrors: 'RAID10',
  SpannedStripesWithParity: 'RAID50',
};

/** Controllers round what is asked for. */
const SIZE_TOLERANCE = 0.02;

export async function compareVolumes(service: RedfishService, request: RaidRequest): Promise<RaidState> {
  const controllers = await controllersFor(service, request);
  const next = nextChange(service.where, controllers, request);
  if (next === null) {
    const names = request.volumes.map(({ name }) => name).join(', ');
    return {
      state: 'as_wanted',
      message: names === '' ? 'there are no volumes' : `the volumes are ${names}`,
    };
  }
  for (const { path, about } of (await runningTasks(service)) ?? []) {
    if (!/\/Storage\/|volume|raid|virtual ?disk/i.test(about)) continue;
    const { state, words, pollAfterMs } = await readTask(service, path);
    if (state === 'running') return { state: 'changing', words, pollAfterMs };
    if (state === 'waits_for_reset') return { state: 'waits_for_reset', words };
  }
  return { state: 'differs', next };
}

export async function changeVolume(
  service: RedfishService,
  request: RaidRequest,
  change: VolumeChange,
  log: (text: string) => void,
): Promise<StartedTask | null> {
  const controllers = await controllersFor(service, request);
  if (change.kind === 'delete') {
    const controller = controllers.find(({ volumes }) => volumes.some(({ path }) => path === change.path));
    if (!controller) return null;
    log(`Deleting the volume ${change.name} at ${change.path}`);
    const time = applyTimeOf(controller.collection);
    return service.delete(change.path, Object.keys(time).length > 0 ? time : undefined);
  }
  const { volume } = change;
  const controller = controllerOf(service.where, controllers, volume);
  const drives = pathsOf(service.where, controller, volume);
  log(`Creating the volume ${volume.name}: ${volume.level} of ${volume.drives.join(', ')}`);
  return service.post(controller.collection.path, {
    Name: volume.name,
    RAIDType: volume.level,
    ...(volume.capacity_bytes > 0 && { CapacityBytes: volume.capacity_bytes }),
    Links: { Drives: drives.map((path) => ({ '@odata.id': path })) },
    ...applyTimeOf(controller.collection),
  });
}

function applyTimeOf({ fields }: Resource): Readonly<Record<string, string>> {
  const offered = textsOf(fieldsOf(fields['@Redfish.OperationApplyTimeSupport']).SupportedValues);
  const time = ['Immediate', 'OnReset'].find((each) => offered.includes(each));
  return time === undefined ? {} : { '@Redfish.OperationApplyTime': time };
}

/** Null: everything is as wanted. What is in the way goes first. */
function nextChange(
  where: string,
  controllers: readonly Controller[],
  request: RaidRequest,
): VolumeChange | null {
  const missing: VolumeRequest[] = [];
  const kept = new Set<string>();
  for (const wanted of request.volumes) {
    const controller = controllerOf(where, controllers, wanted);
    const drives = pathsOf(where, controller, wanted);
    const fitting = controller.volumes.filter(
      (volume) => !kept.has(volume.path) && isAsWanted(volume, wanted, drives),
    );
    const found = fitting.find(({ name }) => name === wanted.name) ?? fitting[0];
    if (found) kept.add(found.path);
    else missing.push(wanted);
  }
  const others = controllers.flatMap(({ volumes }) => volumes.filter(({ path }) => !kept.has(path)));
  if (request.destroy_existing) {
    const [first] = others;
    if (first) return { kind: 'delete', path: first.path, name: first.name };
  } else {
    const needed = missing.flatMap((wanted) =>
      pathsOf(where, controllerOf(where, controllers, wanted), wanted),
    );
    const inTheWay = others.filter(({ drives }) => drives.some((drive) => needed.includes(drive)));
    if (inTheWay.length > 0) throw volumesInTheWay(where, inTheWay);
  }
  const [volume] = missing;
  return volume ? { kind: 'create', volume } : null;
}

function isAsWanted(volume: Volume, wanted: VolumeRequest, drives: readonly string[]): boolean {
  const isSameSet =
    volume.drives.length === drives.length && drives.every((path) => volume.drives.includes(path));
  const { capacity_bytes: bytes } = wanted;
  const isSameSize = bytes === 0 || Math.abs(volume.bytes - bytes) <= bytes * SIZE_TOLERANCE;
  return volume.level === wanted.level && isSameSet && isSameSize;
}

async function controllersFor(service: RedfishService, { controller }: RaidRequest): Promise<Controller[]> {
  const system = await service.system();
  const path = linkOf(system.fields.Storage);
  const storages = path === null ? [] : await service.resources(path);
  const found: Controller[] = [];
  for (const storage of storages) {
    const id = textOf(storage.fields.Id) || (storage.path.split('/').pop() ?? '');
    const volumes = linkOf(storage.fields.Volumes);
    if (volumes === null || (controller !== '' && id !== controller)) continue;
    found.push({
      id,
      collection: await service.get(volumes),
      drives: await drivesOf(service, storage),
      volumes: (await service.resources(volumes)).map(volumeOf).filter(({ level }) => level !== ''),
    });
  }
  if (found.length > 0) return found;
  const named =
    controller === ''
      ? 'a storage controller with volumes'
      : `the storage controller ${controller} with volumes`;
  throw new RedfishFailure('NotOffered', service.where, `it has no ${named.replace(/^(?:a|the) /, '')}`);
}

async function drivesOf(service: RedfishService, { fields }: Resource): Promise<Controller['drives']> {
  const drives: Array<Controller['drives'][number]> = [];
  for (const path of linksOf(fields.Drives)) {
    const drive = await service.find(path);
    if (!drive) continue;
    const { SerialNumber: serial, Id: id, Name: name } = drive.fields;
    drives.push({ path, names: [serial, id, name].map(textOf).filter((each) => each !== '') });
  }
  return drives;
}

/** A drive that is passed through is listed as a volume by some, and is none: its level is empty. */
function volumeOf({ path, fields }: Resource): Volume {
  const named = textOf(fields.RAIDType);
  const { Drives: drives } = fieldsOf(fields.Links);
  return {
    path,
    name: textOf(fields.Name) || textOf(fields.Id),
    level:
      named in RAID_LEVELS
        ? named
        : named !== '' && named !== 'None'
          ? named
          : (LEVEL_OF_TYPE[textOf(fields.VolumeType)] ?? ''),
    drives: linksOf(drives),
    bytes: typeof fields.CapacityBytes === 'number' ? fields.CapacityBytes : 0,
  };
}

/** The one that has all the drives. */
function controllerOf(
  where: string,
  controllers: readonly Controller[],
  { name, drives }: VolumeRequest,
): Controller {
  const found = controllers.find((each) =>
    drives.every((drive) => each.drives.some(({ names }) => names.includes(drive))),
  );
  if (found) return found;
  const known = controllers
    .map(({ id, drives: listed }) => `${id}: ${listed.map(({ names }) => names.join(' / ')).join(', ')}`)
    .join('; ');
  throw new StepFailure({
    class: 'permanent',
    code: 'VOLUMES_REFUSED',
    message: `no storage controller of the BMC ${where} has all the drives ${drives.join(', ')} of the volume ${name}; there are ${known}`,
  });
}

function pathsOf(where: string, controller: Controller, { name, drives }: VolumeRequest): string[] {
  const paths = drives.flatMap((drive) =>
    controller.drives.filter(({ names }) => names.includes(drive)).map(({ path }) => path),
  );
  if (paths.length === drives.length && new Set(paths).size === paths.length) return paths;
  throw new StepFailure({
    class: 'permanent',
    code: 'VOLUMES_REFUSED',
    message: `the drives ${drives.join(', ')} of the volume ${name} do not name one drive each of ${controller.id} at the BMC ${where}`,
  });
}

function volumesInTheWay(where: string, volumes: readonly Volume[]): StepFailure {
  const named = volumes.map(({ name, level }) => `${name} (${level})`).join(', ');
  return new StepFailure({
    class: 'permanent',
    code: 'VOLUMES_IN_THE_WAY',
    message: `the BMC ${where} has other volumes on the drives: ${named}; nothing was changed, because destroy_existing is not set`,
  });
}
