/**
 * Firmware of a machine's components, and its update. The file is pushed where the service takes it, because then what was checked is what is
 * written; otherwise the service fetches it by its address. What became of an update is what the inventory says afterwards.
 */
import type { Readable } from 'node:stream';
import type { FirmwareRequest, FirmwareState } from '../../domain/hardware/hardware-change.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { fieldsOf, linkOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource, StartedTask } from '../service/redfish-service.ts';
import { runningTasks } from '../service/redfish-task.ts';
import type { VendorQuirk } from '../service/vendor-quirk.ts';
import { firmwareName, firmwareVersion } from './firmware-name.ts';

/** A file whose digest was checked. */
export interface FirmwareImage {
  readonly name: string;
  readonly bytes: number;
  readonly open: () => Readable;
}

interface Component {
  readonly path: string;
  readonly id: string;
  readonly names: readonly string[];
  readonly version: string;
}

export async function compareFirmware(
  service: RedfishService,
  request: Pick<FirmwareRequest, 'component' | 'version'>,
): Promise<FirmwareState> {
  const found = await componentsNamed(service, request.component);
  const others = found.filter(({ version }) => version !== request.version);
  if (others.length === 0)
    return { state: 'as_wanted', message: `${request.component} has version ${request.version}` };
  const versions = [...new Set(others.map(({ version }) => version || 'an unknown version'))];
  return { state: 'differs', found: versions.join(', ') };
}

/** Sends the image. Null: the service has no task for it. */
export async function updateFirmware(
  service: RedfishService,
  request: FirmwareRequest,
  image: FirmwareImage,
  log: (text: string) => void,
): Promise<StartedTask | null> {
  const update = await updateService(service);
  const components = await componentsNamed(service, request.component);
  checkTakes(service, update, image);
  const push = linkOf({ '@odata.id': update.fields.MultipartHttpPushUri });
  const simple = fieldsOf(fieldsOf(update.fields.Actions)['#UpdateService.SimpleUpdate']);
  const target = linkOf({ '@odata.id': simple.target });
  const targets = await targetsOf(service, components);
  const applyTime = applyTimeOf(simple);
  if (push !== null) {
    log(`Pushing ${image.name} (${image.bytes} bytes) to ${push}`);
    const parameters = { Targets: targets, ...applyTime, Oem: {} };
    return service.upload(push, {
      parts: { UpdateParameters: parameters },
      part: 'UpdateFile',
      fileName: image.name,
      bytes: image.bytes,
      open: image.open,
    });
  }
  if (target === null) throw new RedfishFailure('NotOffered', service.where, 'it has no update of firmware');
  log(`Having the BMC fetch ${image.name} from ${new URL(request.image_url).host}`);
  const protocol = new URL(request.image_url).protocol === 'https:' ? 'HTTPS' : 'HTTP';
  const protocols = textsOf(simple['TransferProtocol@Redfish.AllowableValues']);
  return service.post(target, {
    ImageURI: request.image_url,
    ...(protocols.includes(protocol) && { TransferProtocol: protocol }),
    ...(targets.length > 0 && { Targets: targets }),
    ...applyTime,
  });
}

/** The update that the service works on; null: none. Undefined: it does not list its tasks. */
export async function runningUpdate(service: RedfishService): Promise<string | null | undefined> {
  const tasks = await runningTasks(service);
  if (tasks === null) return undefined;
  return tasks.find(({ about }) => /UpdateService|firmware|update/i.test(about))?.path ?? null;
}

async function updateService(service: RedfishService): Promise<Resource> {
  const { updateService: path } = await service.root();
  const found = path === null ? null : await service.find(path);
  if (found) return found;
  throw new RedfishFailure('NotOffered', service.where, 'it has no update service');
}

function checkTakes({ where }: RedfishService, { fields }: Resource, image: FirmwareImage): void {
  if (fields.ServiceEnabled === false)
    throw new RedfishFailure('NotOffered', where, 'its update service is disabled');
  const { MaxImageSizeBytes: most } = fields;
  if (typeof most === 'number' && most > 0 && image.bytes > most)
    throw refused(`the image has ${image.bytes} bytes, and the BMC ${where} takes ${most} at most`);
}

/** As soon as it can: an update that waits for a reset is reset for. */
function applyTimeOf(action: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const offered = textsOf(fieldsOf(action['@Redfish.OperationApplyTimeSupport']).SupportedValues);
  const time = ['Immediate', 'OnReset'].find((each) => offered.includes(each));
  return time === undefined ? {} : { '@Redfish.OperationApplyTime': time };
}

async function componentsNamed(service: RedfishService, wanted: string): Promise<Component[]> {
  const { fields } = await updateService(service);
  const collection = linkOf(fields.FirmwareInventory);
  if (collection === null)
    throw new RedfishFailure('NotOffered', service.where, 'it does not list its firmware');
  const quirks = await service.quirks();
  const components = (await service.resources(collection)).map((entry) => componentOf(entry, quirks));
  const installed = components.filter(({ id }) => !quirks.otherFirmware?.test(id));
  const found = installed.filter(({ names }) =>
    names.some((name) => name.toLowerCase() === wanted.toLowerCase()),
  );
  if (found.length > 0) return found;
  const known = [...new Set(installed.map((each) => shownAs(each, installed)))].join(', ');
  throw refused(`the BMC ${service.where} lists no firmware of ${wanted}; it lists ${known || 'none'}`);
}

/** By its name, or by its id where others are called the same. */
function shownAs({ id, names: [name = id] }: Component, among: readonly Component[]): string {
  return among.some((other) => other.id !== id && other.names[0] === name) ? id : name;
}

/** The id of an iDRAC has the version in it, and ends with the component. */
function componentOf({ path, fields }: Resource, quirks: VendorQuirk): Component {
  const id = textOf(fields.Id) || (path.split('/').pop() ?? '');
  const names = [firmwareName(fields, quirks), id, id.split('__').pop() ?? ''].filter((name) => name !== '');
  const also = Object.entries(quirks.firmwareOf)
    .filter(([, pattern]) => names.some((name) => pattern.test(name)))
    .map(([component]) => component);
  return { path, id, names: [...new Set([...names, ...also])], version: firmwareVersion(fields, quirks) };
}

/** What an update is for, as the vendor wants it named. */
async function targetsOf(service: RedfishService, components: readonly Component[]): Promise<string[]> {
  const { updateTargets } = await service.quirks();
  if (updateTargets === 'none') return [];
  if (updateTargets === 'component') return components.map(({ path }) => path);
  const system = await service.system();
  const { ManagedBy: managers } = fieldsOf(system.fields.Links);
  const owners: Readonly<Record<string, string | null>> = {
    BIOS: linkOf(system.fields.Bios),
    BMC: Array.isArray(managers) ? linkOf(managers[0]) : null,
  };
  return components.map(({ id, path }) => owners[id.toUpperCase()] ?? path);
}

function refused(message: string): StepFailure {
  return new StepFailure({ class: 'permanent', code: 'FIRMWARE_REFUSED', message });
}
