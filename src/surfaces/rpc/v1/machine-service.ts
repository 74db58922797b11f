/** baremetal.v1.MachineService: the same machines in the words of docs/api-v1.md. */
import { missingField } from '../../../domain/error/fault.ts';
import { V1_MACHINE_FILTER } from '../../../domain/filter/machine-filter.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import { MachineService } from '../../../gen/baremetal/v1/machine_service_pb.ts';
import { registerMachine, updateMachine } from '../../../operations/machines/inventory.ts';
import { machineNotFound } from '../../../operations/machines/machine-not-found.ts';
import { listMachines } from '../../../store/machines/list.ts';
import { pageSize, pageToken, readPageToken } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Service } from '../service.ts';
import { defineV1Service } from './define-v1-service.ts';
import { machineMessage } from './to-proto.ts';

export function machineServiceV1(dependencies: ServerDependencies): Service {
  return defineV1Service(
    MachineService,
    {
      async registerMachine({ machine }, { caller }) {
        if (!machine) throw missingField('machine');
        return machineMessage(await registerMachine(dependencies, machine, caller.actor));
      },

      async getMachine(request) {
        const machineId = checkMachineId(request.machineId);
        const machine = await dependencies.machines.find(machineId);
        if (!machine) throw machineNotFound(machineId);
        return machineMessage(machine);
      },

      async listMachines(request) {
        const filter = readFilter(request.filter, V1_MACHINE_FILTER);
        const after = readPageToken('v1.machines', request.filter, request.pageToken);
        const page = await listMachines(dependencies.database, {
          filter,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          machines: page.rows.map(machineMessage),
          nextPageToken: pageToken('v1.machines', request.filter, page.next),
        };
      },

      async updateMachine({ machine, updateMask }, { caller }) {
        if (!machine) throw missingField('machine');
        return machineMessage(
          await updateMachine(dependencies, machine, updateMask?.paths ?? null, caller.actor),
        );
      },
    },
    { registerMachine: 'operator', getMachine: 'viewer', listMachines: 'viewer', updateMachine: 'operator' },
  );
}
