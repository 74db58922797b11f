/**
 * The virtual CD drive of a service: of the system, or of the manager that manages it. What was inserted or ejected is what the service
 * says afterwards. A drive that holds something is emptied before something else is inserted, because services refuse to replace it.
 */
import { fieldsOf, linkOf, linksOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import { readBack } from '../service/read-back.ts';
import type { RedfishService, Resource, StartedTask } from '../service/redfish-service.ts';
import { readTask } from '../service/redfish-task.ts';

/** Some fetch the whole image first. */
const TASK_LIMIT_MS = 5 * 60_000;
const CD_TYPES: readonly string[] = ['CD', 'DVD'];

interface MediaCall {
  readonly signal: AbortSignal;
  readonly log: (text: string) => void;
  /** What is said in place of an address that is a secret. */
  readonly shownAs?: string;
}

/** Why the service can't have a disc; null: it can. */
export async function mediaObstacle(service: RedfishService): Promise<string | null> {
  try {
    await findDrive(service);
    return null;
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.reason !== 'NotOffered') throw error;
    return 'the BMC has no virtual CD drive';
  }
}

export async function insertedMedia(service: RedfishService): Promise<string | null> {
  return imageIn(await findDrive(service));
}

export async function insertMedia(service: RedfishService, url: string, call: MediaCall): Promise<void> {
  const drive = await findDrive(service);
  if (imageIn(drive) === url) return;
  if (imageIn(drive) !== null) await ejectMedia(service, call);
  call.log(`Inserting ${call.shownAs ?? url} into ${drive.path}`);
  try {
    const insert = actionOf(drive, '#VirtualMedia.InsertMedia');
    // Older services have no action, and take a change of the resource itself.
    const task =
      insert === null
        ? await service.change(drive, { Image: url, Inserted: true })
        : await insertByAction(service, insert, url);
    await checkDrive(service, url, task, call.signal);
  } catch (error) {
    throw call.shownAs === undefined ? error : withoutAddress(error, url, call.shownAs);
  }
}

/**
 * Only the image is a parameter that has to be there (DSP2046): by default it is inserted and write-protected. Some demand more and name it in
 * their refusal, and others refuse what they do not know; openstack/sushy has met all of these.
 */
const REQUIRED_BY_SOME: ReadonlyArray<{
  readonly named: RegExp;
  readonly fields: (url: string) => Readonly<Record<string, unknown>>;
}> = [
  { named: /\bTransferProtocolType\b/, fields: (url) => ({ TransferProtocolType: protocolOf(url) }) },
  { named: /\bTransferMethod\b/, fields: () => ({ TransferMethod: 'Stream' }) },
  { named: /\b(?:Inserted|WriteProtected)\b/, fields: () => ({ Inserted: true, WriteProtected: true }) },
  { named: /\b(?:UserName|Password)\b/, fields: () => ({ UserName: 'none', Password: 'none' }) },
];

const protocolOf = (url: string) => (url.startsWith('https:') ? 'HTTPS' : 'HTTP');

async function insertByAction(
  service: RedfishService,
  target: string,
  url: string,
): Promise<StartedTask | null> {
  let fields: Readonly<Record<string, unknown>> = { Image: url };
  for (;;) {
    try {
      return await service.post(target, fields);
    } catch (error) {
      const isRefused = error instanceof RedfishFailure && error.reason === 'CommandRefused';
      if (!isRefused) throw error;
      const more = REQUIRED_BY_SOME.find(({ named }) => named.test(error.detail))?.fields(url) ?? {};
      if (Object.keys(more).every((name) => name in fields)) throw error;
      fields = { ...fields, ...more };
    }
  }
}

/** A service repeats in its words what it refuses. */
function withoutAddress(error: unknown, url: string, shownAs: string): unknown {
  if (!(error instanceof RedfishFailure) || !error.message.includes(url)) return error;
  return new RedfishFailure(error.reason, error.where, error.detail.replaceAll(url, shownAs));
}

export async function ejectMedia(service: RedfishService, { signal, log }: MediaCall): Promise<void> {
  const drive = await findDrive(service);
  if (imageIn(drive) === null) return;
  log(`Ejecting what is in ${drive.path}`);
  const eject = actionOf(drive, '#VirtualMedia.EjectMedia');
  const task =
    eject === null
      ? await service.change(drive, { Image: null, Inserted: false })
      : await service.post(eject, {});
  await checkDrive(service, null, task, signal);
}

async function checkDrive(
  service: RedfishService,
  wanted: string | null,
  task: StartedTask | null,
  signal: AbortSignal,
): Promise<void> {
  const found = await readBack(service, {
    read: () => insertedMedia(service),
    isSet: (image) => image === wanted,
    limitMs: () => limitOf(service, task),
    signal,
  });
  if (found === wanted) return;
  const problem =
    found === null ? 'its virtual drive has nothing in it' : 'its virtual drive has something else in it';
  throw new RedfishFailure('CommandRefused', service.where, problem);
}

/** A task that fails says why; one that runs may take longer than an answer. */
async function limitOf(service: RedfishService, task: StartedTask | null): Promise<number> {
  const progress = task === null || task.monitor === null ? null : await readTask(service, task.monitor);
  if (progress?.state === 'failed') throw new RedfishFailure('CommandRefused', service.where, progress.words);
  return progress?.state === 'running' ? TASK_LIMIT_MS : service.limitMs;
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
  const collections = [linkOf(system.fields.VirtualMedia)];
  for (const path of linksOf(fieldsOf(system.fields.Links).ManagedBy))
    collections.push(linkOf((await service.find(path))?.fields.VirtualMedia));
  for (const collection of collections) {
    if (collection === null) continue;
    const drives = ((await service.resourcesIfThere(collection)) ?? []).filter(takesDiscs);
    const drive = drives.find((one) => imageIn(one) !== null) ?? drives[0];
    if (drive) return drive;
  }
  throw new RedfishFailure('NotOffered', service.where, 'it has no virtual CD drive');
}

function takesDiscs({ fields }: Resource): boolean {
  const types = textsOf(fields.MediaTypes);
  return types.length === 0 || types.some((type) => CD_TYPES.includes(type));
}
