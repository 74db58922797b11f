/**
 * What a system boots from next. Set is what the service says afterwards, not what was sent: it is read back. A one-time
 * override that some services report as continuous counts, and one that was used up reads as none.
 */
import {
  type BootOverrideRequest,
  type BootReading,
  type BootSource,
  isBootSet,
} from '../../domain/hardware/boot-override.ts';
import { fieldsOf, textOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import { readBack } from '../service/read-back.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import type { VendorQuirk } from '../service/vendor-quirk.ts';

const TARGETS = {
  pxe: ['Pxe'],
  http: ['UefiHttp'],
  disk: ['Hdd'],
  cd: ['Cd', 'UsbCd'],
  usb: ['Usb'],
  setup: ['BiosSetup'],
  'uefi-target': ['UefiTarget'],
  'boot-option': ['UefiBootNext'],
  none: ['None'],
} as const satisfies Record<BootOverrideRequest['source'], readonly string[]>;

/** The property that has the path of a target. */
const PATH_PROPERTIES: Partial<Record<BootSource, string>> = {
  http: 'HttpBootUri',
  'uefi-target': 'UefiTargetBootSourceOverride',
  'boot-option': 'BootNext',
};

export async function readBootOverride(service: RedfishService): Promise<BootReading> {
  return readingOf((await bootSettings(service)).boot);
}

function readingOf(boot: Readonly<Record<string, unknown>>): BootReading {
  const source = sourceOf(boot);
  const enabled = textOf(boot.BootSourceOverrideEnabled);
  const mode = textOf(boot.BootSourceOverrideMode);
  const property = PATH_PROPERTIES[source];
  return {
    source,
    target: textOf(boot.BootSourceOverrideTarget),
    lasts: source === 'none' ? 'not' : enabled === 'Continuous' ? 'always' : 'once',
    mode: mode === 'UEFI' || mode === 'Legacy' ? mode : null,
    path: property === undefined ? '' : textOf(boot[property]),
    offered: textsOf(boot['BootSourceOverrideTarget@Redfish.AllowableValues']),
  };
}

export async function readBootSource(service: RedfishService): Promise<BootSource> {
  return sourceOf((await bootSettings(service)).boot);
}

function sourceOf(boot: Readonly<Record<string, unknown>>): BootSource {
  const target = textOf(boot.BootSourceOverrideTarget);
  const enabled = textOf(boot.BootSourceOverrideEnabled);
  if (enabled === 'Disabled' || target === 'None' || target === '') return 'none';
  const known = Object.entries(TARGETS).find(([, targets]) =>
    (targets as readonly string[]).includes(target),
  );
  return (known?.[0] as BootSource | undefined) ?? 'other';
}

/** Where the override is changed, and what it is now: in the system, or in the object of its pending settings. */
async function bootSettings(
  service: RedfishService,
): Promise<{ readonly place: Resource; readonly boot: Readonly<Record<string, unknown>> }> {
  const system = await service.system();
  const boot = fieldsOf(system.fields.Boot);
  if ('BootSourceOverrideTarget' in boot) return { place: system, boot };
  const pending = await service.settingsOf(system);
  const pendingBoot = fieldsOf(pending?.fields.Boot);
  if (pending && 'BootSourceOverrideTarget' in pendingBoot) return { place: pending, boot: pendingBoot };
  throw new RedfishFailure('NotOffered', service.where, `${system.path} has no boot override`);
}

/** Returns what was read back. */
export async function setBootSource(
  service: RedfishService,
  request: BootOverrideRequest,
  signal: AbortSignal,
  log: (text: string) => void,
): Promise<BootReading> {
  const { place, boot } = await bootSettings(service);
  const override = overrideFor(service.where, request, boot, await service.quirks());
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = override;
  const property = PATH_PROPERTIES[request.source];
  const { path } = request;
  const change = property === undefined || path === '' ? override : { ...override, [property]: path };
  if (request.lasts === 'always' && enabled === 'Once')
    log('The BMC offers no lasting override: it is set for the next boot');
  log(`Setting the boot source to ${target} (${enabled}) over Redfish`);
  await service.change(place, { Boot: change });
  return readBack(service, {
    read: () => readBootOverride(service),
    isSet: (read) => isBootSet(read, request),
    signal,
  });
}

/** The address that the firmware boots from next; null: none, or the service does not say. */
export async function readHttpBootUri(service: RedfishService): Promise<string | null> {
  const { boot } = await bootSettings(service);
  const uri = textOf(boot.HttpBootUri);
  return uri === '' ? null : uri;
}

/** Why the service can't have the firmware boot from an address that we name; null: it can. */
export async function httpBootObstacle(service: RedfishService): Promise<string | null> {
  const { boot } = await bootSettings(service);
  if (!('HttpBootUri' in boot)) return 'the BMC takes no address for a UEFI HTTP boot';
  const offered = textsOf(boot['BootSourceOverrideTarget@Redfish.AllowableValues']);
  if (offered.length > 0 && !offered.includes('UefiHttp')) return 'the BMC offers no UEFI HTTP boot';
  return null;
}

/** Why the service can't have the system boot so; null: it can. */
export async function bootObstacle(
  service: RedfishService,
  request: BootOverrideRequest,
): Promise<string | null> {
  try {
    const { boot } = await bootSettings(service);
    overrideFor(service.where, request, boot, await service.quirks());
    return null;
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.reason !== 'NotOffered') throw error;
    return `the BMC does not offer ${error.detail}`;
  }
}

/** The next boot is one from this address, and only that one: the address is used up by it. Returns what was read back. */
export async function setHttpBoot(
  service: RedfishService,
  uri: string,
  signal: AbortSignal,
): Promise<{ readonly source: BootSource; readonly uri: string | null }> {
  const { place, boot } = await bootSettings(service);
  const request = { source: 'http', lasts: 'once', mode: 'UEFI', path: '' } as const;
  const change = overrideFor(service.where, request, boot, await service.quirks());
  await service.change(place, { Boot: { ...change, HttpBootUri: uri } });
  return readBack(service, {
    read: async () => ({ source: await readBootSource(service), uri: await readHttpBootUri(service) }),
    isSet: (read) => read.source === 'http' && read.uri === uri,
    signal,
  });
}

interface Override {
  readonly BootSourceOverrideEnabled: 'Once' | 'Continuous' | 'Disabled';
  readonly BootSourceOverrideTarget: string;
  readonly BootSourceOverrideMode?: string;
}

function overrideFor(
  where: string,
  { source, lasts, mode }: BootOverrideRequest,
  boot: Readonly<Record<string, unknown>>,
  { bootMode, cdTargets, overrideLengths }: VendorQuirk,
): Override {
  const choices: readonly string[] = source === 'cd' ? cdTargets : TARGETS[source];
  const offered = textsOf(boot['BootSourceOverrideTarget@Redfish.AllowableValues']);
  const target = choices.find((each) => offered.length === 0 || offered.includes(each));
  if (target === undefined && source !== 'none') {
    const detail = `a boot from ${choices.join(' or ')}; it offers ${offered.join(', ')}`;
    throw new RedfishFailure('NotOffered', where, detail);
  }
  const listed = textsOf(boot['BootSourceOverrideEnabled@Redfish.AllowableValues']);
  const canLast = (listed.length === 0 ? overrideLengths : listed).includes('Continuous');
  const current = textOf(boot.BootSourceOverrideMode);
  const sentMode = mode ?? current;
  return {
    BootSourceOverrideEnabled:
      source === 'none' ? 'Disabled' : lasts === 'always' && canLast ? 'Continuous' : 'Once',
    BootSourceOverrideTarget: target ?? 'None',
    ...(bootMode === 'sent' && sentMode !== '' && current !== '' ? { BootSourceOverrideMode: sentMode } : {}),
  };
}
