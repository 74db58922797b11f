/** Measurements of ThermalSubsystem, PowerSubsystem and EnvironmentMetrics, which replace Thermal and Power on newer services. */
import type { ComponentHealth, SensorReading } from '../../domain/hardware/sensor.ts';
import { type Fields, fieldsOf, listOf } from '../connection/answer-fields.ts';
import { isThere, text } from '../hardware/part-fields.ts';
import { linkedFields, linkedMembers } from '../service/linked-fields.ts';
import type { RedfishService } from '../service/redfish-service.ts';
import { healthOfPart, type Measured, numberOf, reading } from './sensor-fields.ts';

/** Fans and power supplies that are read; each supply is a request more. */
const MAX_PARTS = 16;

export async function readSubsystems(service: RedfishService, chassis: Fields): Promise<Measured> {
  const sensors: SensorReading[] = [];
  const components: ComponentHealth[] = [];
  const thermal = await linkedFields(service, chassis.ThermalSubsystem);
  for (const entry of listOf(
    (await linkedFields(service, thermal.ThermalMetrics)).TemperatureReadingsCelsius,
  )) {
    const name = text(entry.DeviceName) ?? text(entry.PhysicalContext) ?? 'temperature';
    sensors.push(
      reading({ name, kind: 'temperature', unit: '°C', value: numberOf(entry.Reading), health: undefined }),
    );
  }
  for (const fan of await partsOf(service, thermal.Fans)) {
    const name = text(fan.Name) ?? text(fan.Id) ?? 'fan';
    const { Reading: percent, SpeedRPM: rpm } = fieldsOf(fan.SpeedPercent);
    components.push(...healthOfPart(name, fan));
    const turns = numberOf(rpm);
    if (turns !== undefined) sensors.push({ name, kind: 'fan', unit: 'RPM', value: turns });
    else if (numberOf(percent) !== undefined)
      sensors.push({ name, kind: 'fan', unit: '%', value: Number(percent) });
  }
  const power = await linkedFields(service, chassis.PowerSubsystem);
  for (const supply of await partsOf(service, power.PowerSupplies)) {
    const name = text(supply.Name) ?? text(supply.Id) ?? 'power supply';
    components.push(...healthOfPart(name, supply));
    const metrics = await linkedFields(service, supply.Metrics);
    const watts = numberOf(fieldsOf(metrics.InputPowerWatts).Reading);
    if (watts !== undefined) sensors.push({ name, kind: 'power', unit: 'W', value: watts });
  }
  const environment = await linkedFields(service, chassis.EnvironmentMetrics);
  const watts = numberOf(fieldsOf(environment.PowerWatts).Reading);
  if (watts !== undefined) sensors.push({ name: 'Power', kind: 'power', unit: 'W', value: watts });
  return { sensors, components };
}

async function partsOf(service: RedfishService, link: unknown): Promise<Fields[]> {
  return (await linkedMembers(service, link, MAX_PARTS)).filter(isThere);
}
