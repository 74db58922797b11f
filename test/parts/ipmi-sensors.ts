/** Sensors and log entries of ipmi_sim: commands of ipmi_sim_cmd(5), with records as IPMI 2.0, table 43-1, has them. */

export interface IpmiSensor {
  readonly number: number;
  readonly name: string;
  /** Table 42-3: 1 temperature, 4 fan, 0x0b other. */
  readonly type: number;
  /** Table 43-15: 1 degrees C, 6 watts, 18 RPM. */
  readonly unit: number;
  /** What one step of the raw value is worth. */
  readonly factor: number;
  readonly raw: number;
  readonly upper?: {
    readonly nonCritical: number;
    readonly critical: number;
    readonly nonRecoverable: number;
  };
}

export const IPMI_SENSORS: readonly IpmiSensor[] = [
  {
    number: 1,
    name: 'CPU1 Temp',
    type: 1,
    unit: 1,
    factor: 1,
    raw: 55,
    upper: { nonCritical: 80, critical: 90, nonRecoverable: 95 },
  },
  { number: 2, name: 'FAN1', type: 4, unit: 18, factor: 100, raw: 84 },
  { number: 3, name: 'Total Power', type: 0x0b, unit: 6, factor: 10, raw: 30 },
];

const NO_EVENTS = '000000000000000';
const hex = (bytes: readonly number[]) =>
  bytes.map((byte) => `0x${byte.toString(16).padStart(2, '0')}`).join(' ');

export function sensorCommands(sensors: readonly IpmiSensor[]): string {
  return sensors
    .flatMap((sensor) => {
      const { number, type, raw, upper } = sensor;
      return [
        `sensor_add 0x20 0 ${number} ${type} 1`,
        `sensor_set_value 0x20 0 ${number} ${raw} 0`,
        ...(upper ? [`sensor_set_threshold 0x20 0 ${number} settable ${limitsOf(upper)}`] : []),
        `sensor_set_event_support 0x20 0 ${number} enable scanning per-state ${NO_EVENTS} ${NO_EVENTS} ${NO_EVENTS} ${NO_EVENTS}`,
        `main_sdr_add 0x20 ${hex(fullRecord(sensor))}`,
      ];
    })
    .join('\n');
}

function limitsOf({ nonRecoverable, critical, nonCritical }: NonNullable<IpmiSensor['upper']>): string {
  return `111000 ${nonRecoverable} ${critical} ${nonCritical} 0 0 0`;
}

/** A full sensor record (type 01h). */
function fullRecord({ number, name, type, unit, factor, upper }: IpmiSensor): number[] {
  const { nonRecoverable = 0, critical = 0, nonCritical = 0 } = upper ?? {};
  const body = [
    ...[0x20, 0, number, 3, 1, 0x7f, 0x68, type, 1],
    ...[0x80, 0x0a, 0x80, 0x0a, 0x38, 0x38],
    ...[0, unit, 0, 0, factor, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0],
    ...[nonRecoverable, critical, nonCritical, 0, 0, 0, 1, 1, 0, 0, 0],
    0xc0 | name.length,
    ...Buffer.from(name, 'ascii'),
  ];
  return [0, 0, 0x51, 1, body.length, ...body];
}

/** Add SEL Entry: sensor type, number and event data, as table 32-1 has them. */
export function addEntry(event: {
  readonly sensorType: number;
  readonly sensor: number;
  readonly eventType: number;
  readonly data: number;
}): string[] {
  const { sensorType, sensor, eventType, data } = event;
  const bytes = [0, 0, 2, 0, 0, 0, 0, 0x20, 0, 4, sensorType, sensor, eventType, data, 0xff, 0xff];
  return ['raw', '0x0a', '0x44', ...hex(bytes).split(' ')];
}

export const UNCORRECTABLE_ECC = { sensorType: 0x0c, sensor: 0x53, eventType: 0x6f, data: 0x01 };
export const WATCHDOG_RESET = { sensorType: 0x23, sensor: 0x10, eventType: 0x6f, data: 0x01 };
