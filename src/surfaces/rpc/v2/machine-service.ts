/** baremetal.v2.MachineService: the inventory, and starting and canceling operations. */
import { actingAs } from '../../../domain/access/caller.ts';
import { missingField } from '../../../domain/error/fault.ts';
import { MACHINE_FILTER } from '../../../domain/filter/machine-filter.ts';
import {
  checkImageRef,
  checkMachineId,
  checkOperationId,
  checkRequestId,
  checkText,
} from '../../../domain/machine/machine-input.ts';
import { maintenanceParams } from '../../../domain/machine/maintenance.ts';
import type { PhaseGatedType } from '../../../domain/operation/phase-gated-type.ts';
import { MachineService } from '../../../gen/baremetal/v2/machine_service_pb.ts';
import { cancelOperation } from '../../../operations/act/cancel-operation.ts';
import { registerMachine, updateMachine } from '../../../operations/machines/inventory.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { startOperation } from '../../../operations/start/start-operation.ts';
import { listMachines } from '../../../store/machines/list.ts';
import { pageSize, pageToken, readPageToken } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { type CallContext, defineService, type Service } from '../service.ts';
import { type StartOptionsMessage, startOptions } from '../start-options.ts';
import { machineMessages, oneMachineMessage } from './machine-messages.ts';
import { machineMessage, operationMessage } from './to-proto.ts';

interface StartMessage extends StartOptionsMessage {
  readonly machineId: string;
  readonly requestId: string;
}

export function machineService(dependencies: ServerDependencies): Service {
  const start = starterOf(dependencies);
  return defineService(
    MachineService,
    {
      async registerMachine({ machine }, { caller }) {
        if (!machine) throw missingField('machine');
        return machineMessage(await registerMachine(dependencies, machine, caller));
      },

      async getMachine(request, { caller }) {
        const machineId = checkMachineId(request.machineId);
        const machine = await dependencies.machines.find(machineId, caller.scope);
        if (!machine) throw machineNotFound(machineId);
        return oneMachineMessage(dependencies, machine, caller.scope);
      },

      async listMachines(request, { caller }) {
        const filter = readFilter(request.filter, MACHINE_FILTER);
        const paged = { list: 'machines', filter: request.filter, scope: caller.scope };
        const after = readPageToken(paged, request.pageToken);
        const page = await listMachines(dependencies.database, {
          filter,
          scope: caller.scope,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          machines: await machineMessages(dependencies, page.rows, caller.scope),
          nextPageToken: pageToken(paged, page.next),
        };
      },

      async updateMachine({ machine, updateMask }, { caller }) {
        if (!machine) throw missingField('machine');
        return machineMessage(await updateMachine(dependencies, machine, updateMask?.paths ?? null, caller));
      },

      rebootMachine: (request, context) => start('REBOOT', request, context),

      async reimageMachine(request, context) {
        checkRequestId(request.requestId);
        const imageRef = checkImageRef(request.imageRef);
        return start('REIMAGE', request, context, imageRef === '' ? {} : { image_ref: imageRef });
      },

      async enterMaintenance(request, context) {
        checkRequestId(request.requestId);
        const { duration, reason, exitWhenOver } = request;
        const asked = { duration, reason, ...(exitWhenOver && { exit_when_over: 'true' }) };
        return start('ENTER_MAINTENANCE', request, context, { ...maintenanceParams(asked) });
      },

      exitMaintenance: (request, context) => start('EXIT_MAINTENANCE', request, context),

      async cancelOperation(request, { caller }) {
        const operationId = checkOperationId(request.operationId);
        const reason = checkText(request.reason, 'reason', 1000);
        return operationMessage(
          await cancelOperation(dependencies, { operationId, reason, ...actingAs(caller) }),
        );
      },
    },
    {
      registerMachine: 'operator',
      getMachine: 'viewer',
      listMachines: 'viewer',
      updateMachine: 'operator',
      rebootMachine: 'operator',
      reimageMachine: 'operator',
      enterMaintenance: 'operator',
      exitMaintenance: 'operator',
      cancelOperation: 'operator',
    },
  );
}

/** Starts an operation that takes a machine and a request id, and that depends on the phase of the machine. */
function starterOf(dependencies: ServerDependencies) {
  return async (
    type: PhaseGatedType,
    request: StartMessage,
    { caller }: CallContext,
    params: Record<string, string> = {},
  ) => {
    const machineId = checkMachineId(request.machineId);
    const requestId = checkRequestId(request.requestId);
    const started = await startOperation(dependencies, {
      type,
      machineId,
      requestId,
      params,
      ...actingAs(caller),
      ...startOptions(request, caller),
    });
    return operationMessage(started);
  };
}
