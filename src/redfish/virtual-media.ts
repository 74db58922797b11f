/**
 * The virtual CD drive of a service: of the system, or of the manager that manages it. What was inserted or ejected is what the service
 * says afterwards. A drive that holds something is emptied before something else is inserted, because services refuse to replace it.
 */
import { sleep } from '../time/sleep.ts';
import { fieldsOf, linkOf, textOf, textsOf } from './extended-error.ts';
import { RedfishFailure } from './redfish-failure.ts';
import type { RedfishService, Resource } from './redfish-service.ts';

const READ_BACK_POLL_MS = 500;
const CD_TYPES: readonly string[] = ['CD', 'DVD'];

interface MediaCall {
  readonly signal: AbortSignal;
  readonly log: (text: string) => void;
}

export async function insertedMedia(service: RedfishService): Promise<string | null> {
  return imageIn(await findDrive(service));
}

export async function insertMedia(service: RedfishService, url: string, call: MediaCall): Promise<void> {
  const drive = await findDrive(service);
  if (imageIn(drive) === url) return;
  if (imageIn(drive) !== null) await ejectMedia(service, call);
  call.log(`Inserting ${url} into ${drive.path}`);
  const fields = { Image: url, Inserted: true, WriteProtected: true };
  const insert = actionOf(drive, '#VirtualMedia.InsertMedia');
  // Older services have no action, and take a change of the resource itself.
  if (insert === null) await service.change(drive, { Image: url, Inserted: true });
  else await service.post(insert, fields);
  await readBack(service, url, call.signal);
}

export async function ejectMedia(service: RedfishService, { signal, log }: MediaCall): Promise<void> {
  const drive = await findDrive(service);
  if (imageIn(drive) === null) return;
  log(`Ejecting what is in ${drive.path}`);
  const eject = actionOf(drive, '#VirtualMedia.EjectMedia');
  if (eject === null) await service.change(drive, { Image: null, Inserted: false });
  else await service.post(eject, {});
  await readBack(service, null, signal);
}

async function readBack(service: RedfishService, wanted: string | null, signal: AbortSignal): Promise<void> {
  const until = performance.now() + service.limitMs;
  for (;;) {
    const found = imageIn(await findDrive(service));
    if (found === wanted) return;
    if (performance.now() > until)
      throw new RedfishFailure(
        'CommandRefused',
        service.where,
        `its virtual drive has ${found ?? 'nothing'} in it`,
      );
    await sleep(READ_BACK_POLL_MS, signal);
    signal.throwIfAborted();
  }
}

function imageIn({ fields }: Resource): string | null {
  const image = textOf(fields.Image);
  return image === '' || fields.Inserted === false ? null : image;
}

function actionOf({ fields }: Resource, name: string): string | null {
  return linkOf({ '@odata.id': fieldsOf(fieldsOf(fields.Actions)[name]).target });
}

/** One that takes CDs. One that holds something is preferred, so that it is found again. */
async function findDrive(service: RedfishService): Promise<Resource> {
  const system = await service.system();
  const managers = fieldsOf(system.fields.Links).ManagedBy;
  const collections = [linkOf(system.fields.VirtualMedia)];
  for (const path of (Array.isArray(managers) ? managers : []).map(linkOf)) {
    const manager = path === null ? null : await service.find(path);
    collections.push(linkOf(manager?.fields.VirtualMedia));
  }
  for (const collection of collections) {
    if (collection === null) continue;
    const drives = (await service.resources(collection)).filter(takesDiscs);
    const drive = drives.find((one) => imageIn(one) !== null) ?? drives[0];
    if (drive) return drive;
  }
  throw new RedfishFailure('NotOffered', service.where, 'it has no virtual CD drive');
}

function takesDiscs({ fields }: Resource): boolean {
  const types = textsOf(fields.MediaTypes);
  return types.length === 0 || types.some((type) => CD_TYPES.includes(type));
}
