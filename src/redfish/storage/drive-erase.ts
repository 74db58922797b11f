/** The erasure of drives by the storage controllers of a machine (Drive.SecureErase). */
import type { ErasableDrive } from '../../domain/hardware/hardware-change.ts';
import type { EraseMethod } from '../../domain/install/erasure.ts';
import { fieldsOf, linkOf, linksOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource, StartedTask } from '../service/redfish-service.ts';
import { runningTasks } from '../service/redfish-task.ts';

/** The most certain first. A service that lists none has one way of its own. */
const SANITIZATIONS = {
  BlockErase: 'bmc-block-erase',
  CryptographicErase: 'bmc-cryptographic-erase',
  Overwrite: 'bmc-overwrite',
} as const satisfies Record<string, EraseMethod>;

export async function listDrives(service: RedfishService): Promise<ErasableDrive[]> {
  const system = await service.system();
  const path = linkOf(system.fields.Storage);
  const drives = new Map<string, ErasableDrive>();
  for (const { fields } of path === null ? [] : await service.resources(path))
    for (const link of linksOf(fields.Drives)) {
      const drive = drives.has(link) ? null : await service.find(link);
      if (drive) drives.set(drive.path, erasable(drive));
    }
  if (drives.size === 0) throw new RedfishFailure('NotOffered', service.where, 'it lists no drives');
  return [...drives.values()];
}

function erasable(drive: Resource): ErasableDrive {
  const { fields, path } = drive;
  return {
    path,
    name: textOf(fields.Id) || textOf(fields.Name),
    model: textOf(fields.Model),
    serial: textOf(fields.SerialNumber),
    size_bytes: typeof fields.CapacityBytes === 'number' ? fields.CapacityBytes : null,
    method: wayOf(drive)?.method ?? null,
  };
}

interface EraseWay {
  readonly target: string;
  readonly method: EraseMethod;
  readonly type: string | null;
}

function wayOf({ fields }: Resource): EraseWay | null {
  const action = fieldsOf(fieldsOf(fields.Actions)['#Drive.SecureErase']);
  const target = linkOf({ '@odata.id': action.target });
  if (target === null) return null;
  const offered = textsOf(action['SanitizationType@Redfish.AllowableValues']);
  const chosen = Object.entries(SANITIZATIONS).find(([type]) => offered.includes(type));
  if (!chosen) return { target, method: 'bmc-secure-erase', type: null };
  return { target, type: chosen[0], method: chosen[1] };
}

export async function eraseDrive(
  service: RedfishService,
  path: string,
  log: (text: string) => void,
): Promise<StartedTask | null> {
  const drive = await service.get(path);
  const way = wayOf(drive);
  if (way === null) throw new RedfishFailure('NotOffered', service.where, `${path} has no secure erase`);
  const { name, serial } = erasable(drive);
  log(`Erasing ${name} (serial ${serial || '-'}) by ${way.type ?? 'the way of its controller'}`);
  return service.post(way.target, way.type === null ? {} : { SanitizationType: way.type });
}

/** The erasure of the drive that the service works on; null: none, or it does not say. */
export async function runningErasure(service: RedfishService, path: string): Promise<string | null> {
  const tasks = (await runningTasks(service)) ?? [];
  return tasks.find(({ about }) => about.startsWith(`${path}/`))?.path ?? null;
}
