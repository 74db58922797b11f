/**
 * What a Redfish service measures. Thermal and Power hold everything in two requests where they are there, and most services still have
 * them; the collection of sensors has what is not in them (and on some services only that), and ThermalSubsystem and PowerSubsystem
 * replace them on newer ones. The number of requests is bounded: a collection is read member by member only where nothing else says
 * anything, and only so far.
 */
import {
  type ComponentHealth,
  distinctSensors,
  type SensorKind,
  type SensorReading,
  worstOfEach,
} from '../../domain/hardware/sensor.ts';
import { type Fields, fieldsOf, linkOf, listOf } from '../connection/answer-fields.ts';
import { isThere, text } from '../hardware/part-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { linkedChassisOf } from '../service/system-links.ts';
import { readSubsystems } from './read-subsystems.ts';
import { healthOfPart, knownHealth, type Measured, numberOf, reading } from './sensor-fields.ts';

const MAX_CHASSIS = 8;
/** Of a collection that the service does not expand. */
const MAX_SINGLE_SENSORS = 48;

export async function readSensors(service: RedfishService, system: Resource): Promise<Measured> {
  const chassis = (await linkedChassisOf(service, system)).slice(0, MAX_CHASSIS);
  const measured: Measured = { sensors: [], components: systemHealth(system.fields) };
  for (const { fields } of chassis) {
    add(measured, { sensors: [], components: healthOfPart(`chassis ${text(fields.Id) ?? ''}`, fields) });
    const older = await readOlder(service, fields);
    add(measured, older);
    if (older.sensors.length === 0) add(measured, await readSubsystems(service, fields));
    add(measured, { sensors: await readCollection(service, fields, measured.sensors), components: [] });
  }
  return { sensors: distinctSensors(measured.sensors), components: worstOfEach(measured.components) };
}

function add(to: Measured, more: Measured): void {
  to.sensors.push(...more.sensors);
  to.components.push(...more.components);
}

/** The system's resource already says how its parts are as a whole. */
function systemHealth(fields: Fields): ComponentHealth[] {
  return [
    ...healthOfPart('system', fields),
    ...healthOfPart('processors', fieldsOf(fields.ProcessorSummary)),
    ...healthOfPart('memory', fieldsOf(fields.MemorySummary)),
  ];
}

async function readOlder(service: RedfishService, chassis: Fields): Promise<Measured> {
  const measured: Measured = { sensors: [], components: [] };
  const [thermal, power] = [linkOf(chassis.Thermal), linkOf(chassis.Power)];
  const [warm, fed] = [
    (thermal === null ? null : await service.find(thermal))?.fields ?? {},
    (power === null ? null : await service.find(power))?.fields ?? {},
  ];
  for (const part of parts(warm.Temperatures))
    measured.sensors.push(older(part, 'temperature', '°C', part.ReadingCelsius));
  for (const part of parts(warm.Fans)) {
    const unit = part.ReadingUnits === 'Percent' ? '%' : 'RPM';
    measured.sensors.push(older(part, 'fan', unit, part.Reading ?? part.ReadingRPM));
    measured.components.push(...healthOfPart(nameOf(part, 'fan'), part));
  }
  for (const part of parts(fed.PowerControl))
    measured.sensors.push(older(part, 'power', 'W', part.PowerConsumedWatts));
  for (const part of parts(fed.Voltages))
    measured.sensors.push(older(part, 'voltage', 'V', part.ReadingVolts));
  for (const part of parts(fed.PowerSupplies)) {
    const name = nameOf(part, 'power supply');
    measured.components.push(...healthOfPart(name, part));
    const watts = numberOf(part.PowerInputWatts) ?? numberOf(part.LastPowerOutputWatts);
    if (watts !== undefined) measured.sensors.push({ name, kind: 'power', unit: 'W', value: watts });
  }
  return measured;
}

function parts(value: unknown): Fields[] {
  return listOf(value).filter(isThere);
}

function nameOf(part: Fields, otherwise: string): string {
  return text(part.Name) ?? text(part.FanName) ?? text(part.MemberId) ?? otherwise;
}

function older(part: Fields, kind: SensorKind, unit: string, value: unknown): SensorReading {
  return reading({
    name: nameOf(part, kind),
    kind,
    unit,
    value: numberOf(value),
    health: knownHealth(fieldsOf(part.Status).Health),
    low_critical: numberOf(part.LowerThresholdCritical),
    low_warning: numberOf(part.LowerThresholdNonCritical),
    high_warning: numberOf(part.UpperThresholdNonCritical),
    high_critical: numberOf(part.UpperThresholdCritical),
  });
}

const KIND_OF_TYPE: Readonly<Record<string, SensorKind>> = {
  Temperature: 'temperature',
  Power: 'power',
  Voltage: 'voltage',
  Current: 'current',
  Rotational: 'fan',
};
const UNITS: Readonly<Record<string, string>> = {
  Cel: '°C',
  W: 'W',
  V: 'V',
  A: 'A',
  RPM: 'RPM',
  '{rev}/min': 'RPM',
};

/** What the collection has that the other resources have not. */
async function readCollection(
  service: RedfishService,
  chassis: Fields,
  known: readonly SensorReading[],
): Promise<SensorReading[]> {
  const path = linkOf(chassis.Sensors);
  if (path === null) return [];
  const names = new Set(known.map(({ name }) => name.toLowerCase()));
  const members = (await service.expands())
    ? await service.resourcesIfThere(path)
    : known.length > 0
      ? []
      : await service.resourcesIfThere(path, MAX_SINGLE_SENSORS);
  return (members ?? [])
    .map(({ fields }) => fields)
    .filter((fields) => isThere(fields) && numberOf(fields.Reading) !== undefined)
    .map(sensorOf)
    .filter(({ name }) => !names.has(name.toLowerCase()));
}

function sensorOf(fields: Fields): SensorReading {
  const type = text(fields.ReadingType) ?? '';
  const units = text(fields.ReadingUnits) ?? '';
  const limits = fieldsOf(fields.Thresholds);
  const limit = (name: string) => numberOf(fieldsOf(limits[name]).Reading);
  const isFan = type === 'Percent' && fields.PhysicalContext === 'Fan';
  return reading({
    name: text(fields.Name) ?? text(fields.Id) ?? 'sensor',
    kind: KIND_OF_TYPE[type] ?? (isFan ? 'fan' : 'other'),
    unit: UNITS[units] ?? units,
    value: numberOf(fields.Reading),
    health: knownHealth(fieldsOf(fields.Status).Health),
    low_critical: limit('LowerCritical'),
    low_warning: limit('LowerCaution'),
    high_warning: limit('UpperCaution'),
    high_critical: limit('UpperCritical'),
  });
}
