/** A burn-in as the API shows it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Caller } from '../../../domain/access/caller.ts';
import { Fault } from '../../../domain/error/fault.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import type { BurnInSchema, GetBurnInRequest } from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { findBurnIn } from '../../../store/hardware/burn-ins.ts';
import type { ServerDependencies } from '../server-dependencies.ts';

export async function burnIn(
  { machines, database }: ServerDependencies,
  request: GetBurnInRequest,
  { scope }: Caller,
): Promise<MessageInitShape<typeof BurnInSchema>> {
  const machineId = checkMachineId(request.machineId);
  if ((await machines.find(machineId, scope)) === null) throw machineNotFound(machineId);
  const found = await findBurnIn(database, machineId, request.operationId || null);
  if (found === null)
    throw new Fault('BURN_IN_NOT_FOUND', {
      message: `there is no burn-in of ${machineId}`,
      metadata: { machine_id: machineId },
    });
  const { operationId, tests, seconds, state, percent, results, error, orderedAt, endedAt } = found;
  return {
    ...{ machineId, operationId, seconds, state, percent, error },
    tests: [...tests],
    results: results.map((result) => ({ ...result })),
    orderedAt: timestampFromDate(orderedAt),
    ...(endedAt && { endedAt: timestampFromDate(endedAt) }),
  };
}
