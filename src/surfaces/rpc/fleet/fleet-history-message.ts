import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { FleetHistorySchema } from '../../../gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { OperationType } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { FleetHistory } from '../../../store/history/fleet-history.ts';

export function fleetHistoryMessage(history: FleetHistory): MessageInitShape<typeof FleetHistorySchema> {
  return {
    at: timestampFromDate(history.at),
    from: timestampFromDate(history.from),
    samples: history.samples.map(({ at, machines }) => ({
      at: timestampFromDate(at),
      machines: { ...machines },
    })),
    hours: history.hours.map(({ start, operations }) => ({
      start: timestampFromDate(start),
      operations: { ...operations },
    })),
    durations: history.durations.map(({ type, ...rest }) => ({ type: OperationType[type], ...rest })),
  };
}
