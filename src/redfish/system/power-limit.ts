/**
 * How much power the machine draws, and how much it may. Newer services have EnvironmentMetrics at the chassis, older ones Power with a list
 * of controls. A limit that was set is what the service says afterwards.
 */
import type { PowerReading } from '../../domain/hardware/power-reading.ts';
import { fieldsOf, linkOf, linksOf, textOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import { readBack } from '../service/read-back.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { chassisOf, managersOf } from '../service/system-links.ts';
import type { PowerCapSwitch } from '../service/vendor-quirk.ts';

/** One place of the service that says something of the power. */
interface Place {
  readonly resource: Resource;
  readonly form: 'metrics' | 'control';
  /** Which of the controls. */
  readonly index: number;
  readonly reading: PowerReading;
}

/** What one place leaves out, another may say. Throws where none says anything. */
export async function readPower(service: RedfishService): Promise<PowerReading> {
  const places = await findPlaces(service);
  if (places.length === 0)
    throw new RedfishFailure('NotOffered', service.where, 'readings of the power of the machine');
  const first = <K extends keyof PowerReading>(name: K): PowerReading[K] | null =>
    places.map(({ reading }) => reading[name]).find((value) => value !== null) ?? null;
  const limit = limitPlace(places);
  return {
    watts: first('watts'),
    limitWatts: limit?.reading.limitWatts ?? null,
    capacityWatts: first('capacityWatts'),
    lowestLimitWatts: limit?.reading.lowestLimitWatts ?? null,
    highestLimitWatts: limit?.reading.highestLimitWatts ?? null,
    limitAt: limit?.resource.path ?? null,
  };
}

/** `watts` null: no limit. */
export async function setPowerLimit(
  service: RedfishService,
  watts: number | null,
  { signal, log }: { readonly signal: AbortSignal; readonly log: (text: string) => void },
): Promise<void> {
  const place = limitPlace(await findPlaces(service));
  if (!place) throw new RedfishFailure('NotOffered', service.where, 'a limit of the power of the machine');
  if (place.reading.limitWatts === watts) return;
  checkRange(service.where, place.reading, watts);
  const change = watts === null ? 'Removing the power limit' : `Limiting the power to ${watts} W`;
  log(`${change} at ${place.resource.path} over Redfish`);
  if (!(await switchCap(service, watts))) await service.change(place.resource, changeOf(place, watts));
  const read = async () => limitPlace(await findPlaces(service))?.reading.limitWatts ?? null;
  const set = await readBack(service, { read, isSet: (limit) => limit === watts, signal });
  if (set === watts) return;
  const found = set === null ? 'no limit' : `a limit of ${set} W`;
  throw new RedfishFailure('CommandRefused', service.where, `it accepted the limit and says ${found}`);
}

function checkRange(where: string, reading: PowerReading, watts: number | null): void {
  const { lowestLimitWatts: lowest, highestLimitWatts: highest } = reading;
  if (watts === null || ((lowest === null || watts >= lowest) && (highest === null || watts <= highest)))
    return;
  const range = [lowest === null ? '' : `from ${lowest} W`, highest === null ? '' : `up to ${highest} W`];
  const words = range.filter((text) => text !== '').join(' ');
  throw new RedfishFailure('NotOffered', where, `a limit of ${watts} W; it takes one ${words}`);
}

/** False: the vendor has no switch of its own. */
async function switchCap(service: RedfishService, watts: number | null): Promise<boolean> {
  const { powerCap } = await service.quirks();
  if (powerCap === null) return false;
  for (const manager of await managersOf(service, await service.system())) {
    const path = linksOf(fieldAt(manager.fields, powerCap.links)).find((each) =>
      powerCap.resource.test(each),
    );
    const resource = path === undefined ? null : await service.find(path);
    if (resource === null) continue;
    await service.change(resource, { Attributes: attributesOf(powerCap, watts) });
    return true;
  }
  return false;
}

function attributesOf({ attributes, on, off }: PowerCapSwitch, watts: number | null) {
  if (watts === null) return { [attributes.isOn]: off };
  return { [attributes.isOn]: on, [attributes.watts]: watts };
}

function fieldAt(fields: Readonly<Record<string, unknown>>, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => fieldsOf(value)[name], fields);
}

function changeOf({ form, index }: Place, watts: number | null): Readonly<Record<string, unknown>> {
  if (form === 'metrics')
    return {
      PowerLimitWatts:
        watts === null ? { ControlMode: 'Disabled' } : { SetPoint: watts, ControlMode: 'Automatic' },
    };
  // An element of a list is changed at its place; an empty one stays as it is (DSP0266).
  const before = Array.from({ length: index }, () => ({}));
  return { PowerControl: [...before, { PowerLimit: { LimitInWatts: watts } }] };
}

const limitPlace = (places: readonly Place[]) => places.find(({ reading }) => reading.limitAt !== null);

async function findPlaces(service: RedfishService): Promise<Place[]> {
  const places: Place[] = [];
  const system = await service.system();
  const { powerCap } = await service.quirks();
  const isOff = powerCap !== null && fieldAt(system.fields, powerCap.state) === powerCap.off;
  for (const chassis of await chassisOf(service, system)) {
    const metrics = await linked(service, chassis.fields.EnvironmentMetrics);
    if (metrics)
      places.push({ resource: metrics, form: 'metrics', index: 0, reading: metricsReading(metrics) });
    const power = await linked(service, chassis.fields.Power);
    if (power) places.push(...controlsOf(power));
  }
  const counting = isOff
    ? places.map((place) => ({ ...place, reading: { ...place.reading, limitWatts: null } }))
    : places;
  return counting.filter(({ reading }) => Object.values(reading).some((value) => value !== null));
}

async function linked(service: RedfishService, link: unknown): Promise<Resource | null> {
  const path = linkOf(link);
  return path === null ? null : service.find(path);
}

function metricsReading({ path, fields }: Resource): PowerReading {
  const limit = fieldsOf(fields.PowerLimitWatts);
  const mode = textOf(limit.ControlMode);
  const setPoint = wattsOf(limit.SetPoint);
  return {
    watts: wattsOf(fieldsOf(fields.PowerWatts).Reading),
    limitWatts: mode === 'Disabled' ? null : setPoint,
    capacityWatts: null,
    lowestLimitWatts: wattsOf(limit.AllowableMin),
    highestLimitWatts: wattsOf(limit.AllowableMax),
    limitAt: 'SetPoint' in limit || mode !== '' ? path : null,
  };
}

function controlsOf(power: Resource): Place[] {
  const { PowerControl: controls } = power.fields;
  return (Array.isArray(controls) ? controls : []).map((control, index) => {
    const fields = fieldsOf(control);
    const limit = fieldsOf(fields.PowerLimit);
    const reading = {
      watts: wattsOf(fields.PowerConsumedWatts),
      limitWatts: wattsOf(limit.LimitInWatts) || null,
      capacityWatts: wattsOf(fields.PowerCapacityWatts) || null,
      lowestLimitWatts: null,
      highestLimitWatts: null,
      limitAt: 'LimitInWatts' in limit ? power.path : null,
    };
    return { resource: power, form: 'control', index, reading } as const;
  });
}

/** Null where it is no number of watts: services leave it out, say null, or say something else. */
function wattsOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null;
}
