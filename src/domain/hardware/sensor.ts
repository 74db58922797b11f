/** What a BMC measures of a machine, and how the parts are that it watches. */

/** Every kind of sensor, in the order in which people see them. */
export const SENSOR_KINDS = {
  temperature: { title: 'Temperatures', unit: '°C' },
  fan: { title: 'Fans', unit: 'RPM' },
  power: { title: 'Power', unit: 'W' },
  voltage: { title: 'Voltages', unit: 'V' },
  current: { title: 'Currents', unit: 'A' },
  other: { title: 'Others', unit: '' },
} as const satisfies Record<string, { readonly title: string; readonly unit: string }>;

export type SensorKind = keyof typeof SENSOR_KINDS;
export const SENSOR_KIND_NAMES = Object.keys(SENSOR_KINDS) as SensorKind[];

/** Health as Redfish names it, the best first. */
export const HEALTHS = ['OK', 'Warning', 'Critical'] as const;
export type Health = (typeof HEALTHS)[number];

export interface SensorReading {
  readonly name: string;
  readonly kind: SensorKind;
  readonly unit: string;
  /** Absent where the sensor reads nothing, as those of a machine that is off. */
  readonly value?: number;
  readonly health?: Health;
  readonly low_critical?: number;
  readonly low_warning?: number;
  readonly high_warning?: number;
  readonly high_critical?: number;
}

export interface ComponentHealth {
  readonly component: string;
  readonly health: Health;
}

const MAX_SENSORS = 256;
const MAX_COMPONENTS = 128;

/** At most 256, each with a name of its own: a chart and a history find a sensor by its name. */
export function distinctSensors(readings: readonly SensorReading[]): SensorReading[] {
  const names = new Set<string>();
  return readings.slice(0, MAX_SENSORS).map((reading) => {
    let name = reading.name;
    for (let count = 2; names.has(name); count += 1) name = `${reading.name} (${count})`;
    names.add(name);
    return { ...reading, name };
  });
}

/** The worst of each component, by its name. */
export function worstOfEach(components: readonly ComponentHealth[]): ComponentHealth[] {
  const worst = new Map<string, Health>();
  for (const { component, health } of components) {
    const before = worst.get(component);
    if (before === undefined || HEALTHS.indexOf(health) > HEALTHS.indexOf(before))
      worst.set(component, health);
  }
  return [...worst].slice(0, MAX_COMPONENTS).map(([component, health]) => ({ component, health }));
}

/** By its limits, where the BMC gives limits and no verdict. */
export function healthByLimits({
  value,
  low_critical: lowCritical,
  low_warning: lowWarning,
  high_warning: highWarning,
  high_critical: highCritical,
}: Omit<SensorReading, 'name' | 'kind' | 'unit' | 'health'>): Health | undefined {
  if (value === undefined) return undefined;
  const beyond = (low: number | undefined, high: number | undefined) =>
    (low !== undefined && value <= low) || (high !== undefined && value >= high);
  if (beyond(lowCritical, highCritical)) return 'Critical';
  return beyond(lowWarning, highWarning) ? 'Warning' : 'OK';
}

export interface HealthChange {
  readonly component: string;
  /** Empty: nothing was known of it. */
  readonly from: Health | '';
  readonly to: Health;
}

/** Components whose health changed, and those that are new and not OK. What is no longer reported has not changed. */
export function healthChanges(
  before: readonly ComponentHealth[],
  after: readonly ComponentHealth[],
): HealthChange[] {
  const known = new Map(before.map(({ component, health }) => [component, health]));
  return after.flatMap(({ component, health }): HealthChange[] => {
    const from = known.get(component) ?? '';
    return from === health || (from === '' && health === 'OK') ? [] : [{ component, from, to: health }];
  });
}
