/** The workflows of machines, and the operations on their hardware. */
import { actingAs, type Caller } from '../../../domain/access/caller.ts';
import { inAnyCase } from '../../../domain/any-case.ts';
import { invalidField } from '../../../domain/error/fault.ts';
import { OVERWRITES, type Overwrite } from '../../../domain/install/erasure.ts';
import { checkImageRef, checkMachineId, checkRequestId } from '../../../domain/machine/machine-input.ts';
import { DECOMMISSION_MODE_NAMES, type DecommissionMode } from '../../../domain/workflow/stage.ts';
import {
  type AdminService,
  DecommissionMode_Value,
  Overwrite_Value,
} from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { eraseMachine } from '../../../operations/start/erase-machine.ts';
import { migrateMachine } from '../../../operations/start/migrate-machine.ts';
import type { MachineCall } from '../../../operations/start/start-on-machine.ts';
import {
  decommissionMachine,
  drainMachine,
  onboardMachine,
  removeMachine,
} from '../../../operations/start/workflows.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { type StartOptionsMessage, startOptions } from '../start-options.ts';
import { operationMessage } from '../v2/to-proto.ts';

export function workflowHandlers(
  dependencies: ServerDependencies,
): Pick<
  Handlers<typeof AdminService>,
  | 'onboardMachine'
  | 'decommissionMachine'
  | 'drainMachine'
  | 'removeMachine'
  | 'eraseMachine'
  | 'migrateMachine'
> {
  return {
    async onboardMachine(request, { caller }) {
      const call = workflowCall(request, caller);
      return operationMessage(await onboardMachine(dependencies, { ...call, pool: request.pool }));
    },

    async decommissionMachine(request, { caller }) {
      const call = workflowCall(request, caller);
      return operationMessage(
        await decommissionMachine(dependencies, { ...call, mode: modeOf(request.mode) }),
      );
    },

    async drainMachine(request, { caller }) {
      return operationMessage(await drainMachine(dependencies, workflowCall(request, caller)));
    },

    async removeMachine(request, { caller }) {
      return operationMessage(await removeMachine(dependencies, workflowCall(request, caller)));
    },

    async eraseMachine(request, { caller }) {
      const call = workflowCall(request, caller);
      return operationMessage(
        await eraseMachine(dependencies, { ...call, overwrite: overwriteOf(request.overwrite) }),
      );
    },

    async migrateMachine(request, { caller }) {
      const call = workflowCall(request, caller);
      const replacement = {
        mac_addresses: request.macAddresses,
        serial_number: request.serialNumber,
        system_uuid: request.systemUuid,
        bmc_endpoint: request.bmcEndpoint,
      };
      const image = checkImageRef(request.imageRef);
      return operationMessage(await migrateMachine(dependencies, { ...call, replacement, image }));
    },
  };
}

interface WorkflowMessage extends StartOptionsMessage {
  readonly machineId: string;
  readonly requestId: string;
}

function workflowCall(request: WorkflowMessage, caller: Caller): MachineCall {
  return {
    machineId: checkMachineId(request.machineId),
    requestId: checkRequestId(request.requestId),
    ...actingAs(caller),
    ...startOptions(request, caller),
  };
}

function modeOf(value: DecommissionMode_Value): DecommissionMode {
  const mode = inAnyCase(DECOMMISSION_MODE_NAMES, DecommissionMode_Value[value] ?? '');
  if (!mode) throw invalidField('mode', `must be one of ${DECOMMISSION_MODE_NAMES.join(', ').toUpperCase()}`);
  return mode;
}

function overwriteOf(value: Overwrite_Value): Overwrite {
  if (value === Overwrite_Value.VALUE_UNSPECIFIED) return 'ends';
  const overwrite = inAnyCase(OVERWRITES, Overwrite_Value[value] ?? '');
  if (!overwrite) throw invalidField('overwrite', `must be one of ${OVERWRITES.join(', ').toUpperCase()}`);
  return overwrite;
}
