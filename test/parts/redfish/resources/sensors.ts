/**
 * What the BMC measures, in one of the three forms that the schemas have: Thermal and Power, a collection of Sensor, or
 * ThermalSubsystem, PowerSubsystem and EnvironmentMetrics.
 */
import { type Body, CHASSIS, collection, link, ok, type SimulatedNoun } from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

export class SimulatedSensors {
  temperatures: Record<string, number> = { 'CPU1 Temp': 41, 'CPU2 Temp': 43, 'Inlet Temp': 22 };
  fans: Record<string, number> = { FAN1: 8400, FAN2: 8500 };
  watts = 412;
  volts = 12.1;
  /** By the name of a sensor, of a supply, or `system`. */
  health: Record<string, 'OK' | 'Warning' | 'Critical'> = {};
}

const statusOf = ({ sensors: { health } }: RedfishSimulator, name: string) => ({
  State: 'Enabled',
  Health: health[name] ?? 'OK',
});

export const sensors: SimulatedNoun = {
  routes: {
    'GET {chassis}/Thermal': ({ bmc }) => (bmc.shape.sensorsAt === 'older' ? ok(thermal(bmc)) : null),
    'GET {chassis}/Power': ({ bmc }) => (bmc.shape.sensorsAt === 'older' ? ok(power(bmc)) : null),
    'GET {chassis}/Sensors': (request) => {
      const members = sensorsOf(request.bmc);
      const paths = [...members.keys()];
      return request.bmc.shape.sensorsAt === 'collection'
        ? collection(request, paths, (path) => members.get(path))
        : null;
    },
    'GET {chassis}/Sensors/:id': ({ bmc, path }) => {
      const found = bmc.shape.sensorsAt === 'collection' ? sensorsOf(bmc).get(path) : undefined;
      return found ? ok(found) : null;
    },
    'GET {chassis}/ThermalSubsystem': ({ path }) =>
      ok({
        '@odata.id': path,
        Id: 'ThermalSubsystem',
        ThermalMetrics: link(`${path}/ThermalMetrics`),
        Fans: link(`${path}/Fans`),
      }),
    'GET {chassis}/ThermalSubsystem/ThermalMetrics': ({ bmc, path }) =>
      ok({
        '@odata.id': path,
        Id: 'ThermalMetrics',
        TemperatureReadingsCelsius: Object.entries(bmc.sensors.temperatures).map(([name, value]) => ({
          DeviceName: name,
          Reading: value,
        })),
      }),
    'GET {chassis}/ThermalSubsystem/Fans': (request) => {
      const fans = new Map(
        Object.keys(request.bmc.sensors.fans).map((name) => [`${request.path}/${name}`, name]),
      );
      return collection(request, [...fans.keys()], (path) => fanOf(request.bmc, path, fans.get(path) ?? ''));
    },
    'GET {chassis}/ThermalSubsystem/Fans/:id': ({ bmc, path, parameters: { id = '' } }) =>
      id in bmc.sensors.fans ? ok(fanOf(bmc, path, id)) : null,
    'GET {chassis}/EnvironmentMetrics': ({ bmc, path }) =>
      ok({ '@odata.id': path, Id: 'EnvironmentMetrics', PowerWatts: { Reading: bmc.sensors.watts } }),
  },
  adds: {
    chassis: (bmc) => ({ Status: statusOf(bmc, 'chassis'), ...linksOf(bmc) }),
    system: (bmc) => ({
      Status: { ...statusOf(bmc, 'system'), HealthRollup: bmc.sensors.health.system ?? 'OK' },
      MemorySummary: { Status: statusOf(bmc, 'memory') },
    }),
  },
};

function linksOf({ shape: { sensorsAt, powerLimit } }: RedfishSimulator): Body {
  switch (sensorsAt) {
    case 'older':
      return { Thermal: link(`${CHASSIS}/Thermal`), Power: link(`${CHASSIS}/Power`) };
    case 'collection':
      return {
        Sensors: link(`${CHASSIS}/Sensors`),
        ...(powerLimit === 'switched' && { Power: link(`${CHASSIS}/Power`) }),
      };
    case 'subsystems':
      return {
        ThermalSubsystem: link(`${CHASSIS}/ThermalSubsystem`),
        EnvironmentMetrics: link(`${CHASSIS}/EnvironmentMetrics`),
      };
  }
}

function thermal(bmc: RedfishSimulator): Body {
  const { temperatures, fans } = bmc.sensors;
  return {
    '@odata.id': `${CHASSIS}/Thermal`,
    '@odata.type': '#Thermal.v1_6_0.Thermal',
    Id: 'Thermal',
    Name: 'Thermal',
    Temperatures: Object.entries(temperatures).map(([name, value], index) => ({
      MemberId: String(index),
      Name: name,
      ReadingCelsius: value,
      UpperThresholdNonCritical: 85,
      UpperThresholdCritical: 95,
      Status: statusOf(bmc, name),
    })),
    Fans: Object.entries(fans).map(([name, value], index) => ({
      MemberId: String(index),
      Name: name,
      Reading: value,
      ReadingUnits: 'RPM',
      Status: statusOf(bmc, name),
    })),
  };
}

export function power(bmc: RedfishSimulator): Body {
  const { watts, volts } = bmc.sensors;
  return {
    '@odata.id': `${CHASSIS}/Power`,
    '@odata.type': '#Power.v1_6_0.Power',
    Id: 'Power',
    Name: 'Power',
    PowerControl: [{ MemberId: '0', Name: 'System Power', PowerConsumedWatts: watts }],
    Voltages: [{ MemberId: '0', Name: '12V', ReadingVolts: volts, Status: statusOf(bmc, '12V') }],
    PowerSupplies: bmc.hardware.powerSupplies.map((name, index) => ({
      MemberId: String(index),
      Name: name,
      Model: 'PSU',
      PowerCapacityWatts: 1400,
      PowerInputWatts: watts / 2,
      Status: statusOf(bmc, name),
    })),
  };
}

function fanOf(bmc: RedfishSimulator, path: string, name: string): Body {
  const { [name]: SpeedRPM } = bmc.sensors.fans;
  return {
    '@odata.id': path,
    Id: name,
    Name: name,
    SpeedPercent: { Reading: 60, SpeedRPM },
    Status: statusOf(bmc, name),
  };
}

function sensorsOf(bmc: RedfishSimulator): Map<string, Body> {
  const { temperatures, fans, watts, volts } = bmc.sensors;
  const all: readonly (readonly [string, string, string, number])[] = [
    ...Object.entries(temperatures).map(([name, value]) => [name, 'Temperature', 'Cel', value] as const),
    ...Object.entries(fans).map(([name, value]) => [name, 'Rotational', 'RPM', value] as const),
    ['System Power', 'Power', 'W', watts],
    ['12V', 'Voltage', 'V', volts],
  ];
  return new Map(
    all.map(([name, type, units, value]) => {
      const path = `${CHASSIS}/Sensors/${name.replaceAll(' ', '_')}`;
      const body = {
        '@odata.id': path,
        '@odata.type': '#Sensor.v1_2_0.Sensor',
        Id: name.replaceAll(' ', '_'),
        Name: name,
        ReadingType: type,
        ReadingUnits: units,
        Reading: value,
        Status: statusOf(bmc, name),
        ...(type === 'Temperature' ? { Thresholds: { UpperCritical: { Reading: 95 } } } : {}),
      };
      return [path, body];
    }),
  );
}
