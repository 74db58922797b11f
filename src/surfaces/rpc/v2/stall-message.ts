import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { currentStep, type Operation } from '../../../domain/operation/operation.ts';
import { type Stall, stallText } from '../../../domain/operation/stall.ts';
import type { StallSchema } from '../../../gen/baremetal/v2/operation_pb.ts';
import type { Stalls } from '../../../store/operations/stalled-operations.ts';

export function stallMessage(stall: Stall): MessageInitShape<typeof StallSchema> {
  const { step, startedAt, usual } = stall;
  return {
    step,
    since: timestampFromDate(startedAt),
    usualSeconds: BigInt(Math.round(usual.p50Seconds)),
    p99Seconds: BigInt(Math.round(usual.p99Seconds)),
    samples: usual.samples,
    message: stallText(stall, new Date()),
  };
}

/** Not of a step that has ended since the stalls were read. */
export function stallOfOperation(operation: Operation, stalls: Stalls): Stall | null {
  const stall = stalls.get(operation.operationId);
  const step = currentStep(operation);
  const isSame =
    stall !== undefined &&
    step?.name === stall.step &&
    step.startedAt !== null &&
    Date.parse(step.startedAt) === stall.startedAt.getTime();
  return isSame ? stall : null;
}
