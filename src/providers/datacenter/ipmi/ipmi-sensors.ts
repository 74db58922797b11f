/**
 * Sensors and the System Event Log over IPMI, by three commands of ipmitool: the sensors with their limits, the counters of the log,
 * and its newest entries where those have changed.
 */
import type { KnownLog, LogEntry, LogReading } from '../../../domain/hardware/hardware-log.ts';
import type { HardwareReading } from '../../../domain/hardware/hardware-reading.ts';
import {
  type ComponentHealth,
  distinctSensors,
  type Health,
  type SensorKind,
  type SensorReading,
  worstOfEach,
} from '../../../domain/hardware/sensor.ts';
import type { Bmc } from './bmcs.ts';

/** Entries of a log that are read at most: each is a request. */
const MAX_ENTRIES = 200;

export async function readIpmiSensors(bmc: Bmc, known: KnownLog): Promise<HardwareReading> {
  const sensors = parseSensors(await bmc.ask('-c', 'sdr', 'elist', 'full'));
  return {
    sensors,
    components: componentsOf(sensors),
    log: await readIpmiLog(bmc, known),
  };
}

const KINDS: Readonly<Record<string, readonly [SensorKind, string]>> = {
  'degrees C': ['temperature', '°C'],
  RPM: ['fan', 'RPM'],
  Watts: ['power', 'W'],
  Volts: ['voltage', 'V'],
  Amps: ['current', 'A'],
};

const HEALTH_OF_STATUS: Readonly<Record<string, Health>> = {
  ok: 'OK',
  nc: 'Warning',
  cr: 'Critical',
  nr: 'Critical',
};

/** By type, where the sensor reads nothing and so has no unit. */
const KIND_OF_TYPE: Readonly<Record<string, SensorKind>> = {
  Temperature: 'temperature',
  Fan: 'fan',
  Voltage: 'voltage',
  Current: 'current',
};

/** name,value,unit,status,entity,entity name,type,nominal,normal min,normal max,unr,ucr,unc,lnr,lcr,lnc,min,max */
function parseSensors(text: string): SensorReading[] {
  return distinctSensors(
    text.split('\n').flatMap((line): SensorReading[] => {
      const [name, value, unit = '', status = '', , , type = '', , , , , ucr, unc, , lcr, lnc] = line
        .trim()
        .split(',');
      if (name === undefined || name === '' || type === '') return [];
      const [kind, shortUnit] = KINDS[unit] ?? [KIND_OF_TYPE[type] ?? 'other', unit];
      const health = HEALTH_OF_STATUS[status];
      return [
        {
          name: name.slice(0, 128),
          kind,
          unit: shortUnit,
          ...number('value', value),
          ...(health && { health }),
          ...limits({ low_critical: lcr, low_warning: lnc, high_warning: unc, high_critical: ucr }),
        },
      ];
    }),
  );
}

function number<Name extends string>(name: Name, text: string | undefined): { [key in Name]?: number } {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return (Number.isFinite(value) ? { [name]: value } : {}) as { [key in Name]?: number };
}

/** Limits that are not set read as 0. */
function limits(given: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, text]) =>
      Object.entries(number(name, text)).filter(([, value]) => value !== 0),
    ),
  );
}

/** IPMI knows no parts: their health is that of their sensors. */
function componentsOf(sensors: readonly SensorReading[]): ComponentHealth[] {
  return worstOfEach(
    sensors.flatMap(({ kind, health }) =>
      health === undefined || kind === 'other' ? [] : [{ component: COMPONENTS[kind], health }],
    ),
  );
}

const COMPONENTS = {
  temperature: 'temperatures',
  fan: 'fans',
  power: 'power',
  voltage: 'voltages',
  current: 'currents',
} as const satisfies Record<Exclude<SensorKind, 'other'>, string>;

async function readIpmiLog(bmc: Bmc, known: KnownLog): Promise<LogReading> {
  const info = await bmc.ask('sel', 'info');
  const field = (name: string) => new RegExp(`^${name}\\s*: (.*)$`, 'm').exec(info)?.[1]?.trim() ?? '';
  const count = Number(field('Entries')) || 0;
  const fingerprint = [count, field('Last Add Time'), field('Last Del Time')].join(' ');
  if (fingerprint === known.fingerprint) return { state: 'unchanged', fingerprint };
  // Details would cost the time of day: ipmitool prints the date twice in them.
  const text = count === 0 ? '' : await bmc.askBriefly('-c', 'sel', 'list', 'last', String(MAX_ENTRIES));
  return {
    state: 'read',
    fingerprint,
    count,
    entries: parseEntries(text),
    isComplete: count <= MAX_ENTRIES,
  };
}

/** 1a,11/18/26,03:34:53 UTC,Memory #0x53,Correctable ECC,Asserted; or with Pre-Init and seconds instead of a date. */
function parseEntries(text: string): LogEntry[] {
  return text.split('\n').flatMap((line): LogEntry[] => {
    const [id = '', date = '', time = '', sensor = '', ...rest] = line.split(',').map((part) => part.trim());
    if (!/^[0-9a-f]+$/i.test(id) || rest.length === 0) return [];
    const at = timeOf(date, time);
    const isOver = rest.at(-1) === 'Deasserted';
    const what = rest.filter((part) => part !== '' && part !== 'Asserted').join(', ');
    const message = `${sensor}: ${what}`.slice(0, 500);
    // Before the clock was set, the seconds since the start are all there is to tell entries apart by.
    return [
      {
        id: at === undefined ? `${id}+${time}` : id,
        ...(at && { at }),
        severity: isOver ? 'OK' : severityOf(message),
        message,
        sensor,
      },
    ];
  });
}

function timeOf(date: string, time: string): Date | undefined {
  const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d\d(?:\d\d)?)$/.exec(date) ?? [];
  const [clock] = /^\d\d:\d\d:\d\d/.exec(time) ?? [];
  if (year === undefined || clock === undefined) return undefined;
  const at = new Date(`${year.length === 2 ? `20${year}` : year}-${month}-${day}T${clock}Z`);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

/** The log has no severities: they follow from the words that the specification has for events. */
const SEVERITIES: ReadonlyArray<readonly [RegExp, Health]> = [
  // It has not failed yet.
  [/predictive/i, 'Warning'],
  [
    /non-?recoverable|uncorrectable|fail|critical stop|ac lost|hard reset|ierr|thermal trip|fault|panic/i,
    'Critical',
  ],
  [/upper critical|lower critical/i, 'Critical'],
  [/non-?critical|correctable|degraded|redundancy lost|logging limit|absent|lost/i, 'Warning'],
];

function severityOf(message: string): Health {
  const plain = message.replaceAll(/non-critical/gi, 'noncritical');
  return SEVERITIES.find(([pattern]) => pattern.test(plain))?.[1] ?? 'OK';
}
