import type { LogReading } from './hardware-log.ts';
import type { ComponentHealth, SensorReading } from './sensor.ts';

/** What one reading of a BMC found: everything in it changes all the time, other than the inventory. */
export interface HardwareReading {
  readonly sensors: readonly SensorReading[];
  readonly components: readonly ComponentHealth[];
  /** Null: the BMC has no log that can be read. */
  readonly log: LogReading | null;
}
