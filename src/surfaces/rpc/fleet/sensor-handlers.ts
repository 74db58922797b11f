/** What BMCs measure and log, of baremetal.fleet.v1.HardwareService. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import { invalidField } from '../../../domain/error/fault.ts';
import {
  HEALTHS,
  type Health,
  SENSOR_KIND_NAMES,
  type SensorKind,
  type SensorReading,
} from '../../../domain/hardware/sensor.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type {
  HardwareLogEntrySchema,
  HardwareService,
  SensorSchema,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { type KeptEntry, listHardwareLog } from '../../../store/hardware/hardware-log.ts';
import { findReading } from '../../../store/hardware/sensor-readings.ts';
import { KEPT_HOURS, readSensorHistory } from '../../../store/hardware/sensor-samples.ts';
import { pageToken, readPosition } from '../page-token.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 500;
const MAX_NAMES = 64;

/** Throws where there is no such machine in the caller's scope. */
export type FindMachine = (machineId: string, caller: Caller) => Promise<Machine>;

export function sensorHandlers(
  { database }: Pick<ServerDependencies, 'database'>,
  findMachine: FindMachine,
): Pick<Handlers<typeof HardwareService>, 'listSensors' | 'getSensorHistory' | 'listHardwareLog'> {
  return {
    async listSensors(request, { caller }) {
      const { machineId } = await findMachine(request.machineId, caller);
      const kind = readKind(request.kind);
      const found = await findReading(database, machineId);
      const sensors = found?.sensors.filter((sensor) => kind === null || sensor.kind === kind) ?? [];
      return {
        sensors: sensors.map(sensorMessage),
        components: found?.components.map((component) => ({ ...component })) ?? [],
        problem: found?.problem ?? '',
        ...(found?.readAt && { readAt: timestampFromDate(found.readAt) }),
        ...(found?.problemSince && { problemSince: timestampFromDate(found.problemSince) }),
      };
    },
    async getSensorHistory(request, { caller }) {
      const { machineId } = await findMachine(request.machineId, caller);
      const hours = readHours(request.hours);
      if (request.names.length > MAX_NAMES) throw invalidField('names', `must be at most ${MAX_NAMES}`);
      const found = await findReading(database, machineId);
      const wanted = new Set(request.names);
      const kinds = new Map(found?.sensors.map((sensor) => [sensor.name, sensor]) ?? []);
      const points = await readSensorHistory(database, machineId, found?.layout ?? [], hours);
      return {
        machineId,
        series: [...points]
          .filter(([name, { length }]) => length > 0 && (wanted.size === 0 || wanted.has(name)))
          .map(([name, of]) => ({
            name,
            kind: kinds.get(name)?.kind ?? 'other',
            unit: kinds.get(name)?.unit ?? '',
            points: of.map(({ at, value }) => ({ at: timestampFromDate(at), value })),
          })),
      };
    },
    async listHardwareLog(request, { caller }) {
      const { scope } = caller;
      const machineId =
        request.machineId === '' ? null : (await findMachine(request.machineId, caller)).machineId;
      const severities = readSeverities(request.severity);
      const size = readPageSize(request.pageSize);
      const paged = { list: 'hardware-log', filter: `${machineId ?? ''} ${request.severity}`, scope };
      const before = readPosition(paged, request.pageToken);
      const found = await listHardwareLog(database, {
        machineId,
        severities,
        scope,
        before,
        limit: size + 1,
      });
      const page = found.slice(0, size);
      const last = found.length > size ? page.at(-1) : undefined;
      return {
        entries: page.map(entryMessage),
        nextPageToken: pageToken(paged, last === undefined ? null : String(last.entryNumber)),
      };
    },
  };
}

export function readPageSize(asked: number): number {
  if (asked < 0) throw invalidField('page_size', 'must not be negative');
  return asked === 0 ? DEFAULT_PAGE : Math.min(asked, MAX_PAGE);
}

function readKind(given: string): SensorKind | null {
  const kind = SENSOR_KIND_NAMES.find((name) => name === given);
  if (kind === undefined && given !== '')
    throw invalidField('kind', `must be one of ${SENSOR_KIND_NAMES.join(', ')}, or empty`);
  return kind ?? null;
}

function readHours(given: number): number {
  if (given < 0 || given > KEPT_HOURS) throw invalidField('hours', `must be 1 to ${KEPT_HOURS}, or 0`);
  return given === 0 ? KEPT_HOURS : given;
}

/** This one and the worse ones. */
function readSeverities(given: string): readonly Health[] {
  const least = HEALTHS.indexOf(given as Health);
  if (least < 0 && given !== '')
    throw invalidField('severity', `must be one of ${HEALTHS.join(', ')}, or empty`);
  return HEALTHS.slice(Math.max(0, least));
}

function sensorMessage(sensor: SensorReading): MessageInitShape<typeof SensorSchema> {
  const { name, kind, unit, value, health = '' } = sensor;
  return {
    name,
    kind,
    unit,
    health,
    ...(value !== undefined && { value }),
    ...(sensor.low_critical !== undefined && { lowCritical: sensor.low_critical }),
    ...(sensor.low_warning !== undefined && { lowWarning: sensor.low_warning }),
    ...(sensor.high_warning !== undefined && { highWarning: sensor.high_warning }),
    ...(sensor.high_critical !== undefined && { highCritical: sensor.high_critical }),
  };
}

function entryMessage(entry: KeptEntry): MessageInitShape<typeof HardwareLogEntrySchema> {
  const { machineId, entryId, at, foundAt, severity, category, sensor, message } = entry;
  return {
    machineId,
    entryId,
    severity,
    category,
    sensor,
    message,
    foundAt: timestampFromDate(foundAt),
    ...(at && { at: timestampFromDate(at) }),
  };
}
