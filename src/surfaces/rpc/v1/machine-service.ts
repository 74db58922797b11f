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
        return machineMessage(await registerMachine(dependencies, machine, caller));
      },

      async getMachine(request, { caller }) {
        const machineId = checkMachineId(request.machineId);
        const machine = await dependencies.machines.find(machineId, caller.scope);
        if (!machine) throw machineNotFound(machineId);
        return machineMessage(machine);
      },

      async listMachines(request, { caller }) {
        const filter = readFilter(request.filter, V1_MACHINE_FILTER);
        const paged = { list: 'v1.machines', filter: request.filter, scope: caller.scope };
        const after = readPageToken(paged, request.pageToken);
        const page = await listMachines(dependencies.database, {
          filter,
          scope: caller.scope,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          machines: page.rows.map(machineMessage),
          nextPageToken: pageToken(paged, page.next),
        };
      },

      async updateMachine({ machine, updateMask }, { caller }) {
        if (!machine) throw missingField('machine');
        return machineMessage(await updateMachine(dependencies, machine, updateMask?.paths ?? null, caller));
      },
    },
    { registerMachine: 'operator', getMachine: 'viewer', listMachines: 'viewer', updateMachine: 'operator' },
  );
}
