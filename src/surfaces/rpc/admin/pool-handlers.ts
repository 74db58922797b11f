/** Machines that agents enrol for, and the pools that they are in. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { actingAs } from '../../../domain/access/caller.ts';
import { POOL_RULE } from '../../../domain/agent/agent.ts';
import { invalidField, missingField } from '../../../domain/error/fault.ts';
import { checkMachineId } from '../../../domain/machine/machine-input.ts';
import type { AdminService } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { createAgentMachine } from '../../../operations/agents/agent-machines.ts';
import { createPool, poolNotFound } from '../../../store/agents/pools.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { machineMessage } from '../v2/to-proto.ts';
import { poolMessage } from './pool-message.ts';

export function poolHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof AdminService>, 'createMachine' | 'createPool' | 'listPools' | 'getPool'> {
  return {
    async createMachine(request, { caller }) {
      const { machine, secret, expiresAt } = await createAgentMachine(dependencies, {
        pool: request.pool,
        provider: request.provider,
        machineId: request.machineId === '' ? '' : checkMachineId(request.machineId),
        ...actingAs(caller),
        now: dependencies.now(),
      });
      dependencies.tokensChanged();
      return { machine: machineMessage(machine), token: secret, expiresAt: timestampFromDate(expiresAt) };
    },

    async createPool(request, { caller }) {
      if (request.name === '') throw missingField('name');
      if (!POOL_RULE.test(request.name))
        throw invalidField('name', 'must be 1 to 63 letters, digits, ".", "_" or "-"');
      const pool = await createPool(dependencies.database, request.name, caller);
      return { name: pool.name, createdBy: pool.createdBy, createdAt: timestampFromDate(pool.createdAt) };
    },

    async listPools(_request, { caller: { scope } }) {
      return { pools: (await dependencies.pools.list(scope)).map(poolMessage) };
    },

    async getPool(request, { caller: { scope } }) {
      if (request.name === '') throw missingField('name');
      const pool = await dependencies.pools.find(request.name, scope);
      if (!pool) throw poolNotFound(request.name);
      return poolMessage(pool);
    },
  };
}
