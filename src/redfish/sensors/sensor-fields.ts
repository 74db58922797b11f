/** Fields that the resources of sensors share. */
import {
  type ComponentHealth,
  HEALTHS,
  type Health,
  healthByLimits,
  type SensorKind,
  type SensorReading,
} from '../../domain/hardware/sensor.ts';
import { type Fields, fieldsOf } from '../connection/answer-fields.ts';
import { isThere, present } from '../hardware/part-fields.ts';

export interface Measured {
  readonly sensors: SensorReading[];
  readonly components: ComponentHealth[];
}

export function healthOfPart(component: string, fields: Fields): ComponentHealth[] {
  const status = fieldsOf(fields.Status);
  // Of the part itself, or of it and everything in it.
  const health = knownHealth(status.HealthRollup) ?? knownHealth(status.Health);
  return health === undefined || !isThere(fields) ? [] : [{ component: component.trim(), health }];
}

export function knownHealth(value: unknown): Health | undefined {
  return HEALTHS.find((health) => health === value);
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

type Given = { [Key in keyof SensorReading]: SensorReading[Key] | undefined } & {
  name: string;
  kind: SensorKind;
  unit: string;
};

/** A sensor that says no health has that of its limits. */
export function reading(given: Given): SensorReading {
  const found = present(given) as SensorReading;
  const health = found.health ?? healthByLimits(found);
  return health === undefined ? found : { ...found, health };
}
