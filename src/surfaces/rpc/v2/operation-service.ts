/** baremetal.v2.OperationService: reads and watches operations. */

import { OPERATION_FILTER } from '../../../domain/filter/operation-filter.ts';
import { checkOperationId } from '../../../domain/machine/machine-input.ts';
import { OperationService } from '../../../gen/baremetal/v2/operation_service_pb.ts';
import { listOperations } from '../../../store/machines/list.ts';
import { findOperation } from '../../../store/operations/find-operations.ts';
import { operationNotFound } from '../../../store/operations/operation-faults.ts';
import { pageSize, pageToken, readPageToken } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { type CallContext, defineService, type Service } from '../service.ts';
import { streamLog } from '../stream-log.ts';
import { operationMessage } from './to-proto.ts';
import { watchOperations } from './watch-operations.ts';

export function operationService(dependencies: ServerDependencies): Service {
  const find = async (id: string, { caller }: CallContext) => {
    const operationId = checkOperationId(id);
    const operation = await findOperation(dependencies.database, operationId, caller.scope);
    if (!operation) throw operationNotFound(operationId);
    return operation;
  };

  return defineService(
    OperationService,
    {
      async getOperation({ operationId }, context) {
        return operationMessage(
          await find(operationId, context),
          await dependencies.stalls.read(context.caller.scope),
        );
      },

      async listOperations(request, { caller }) {
        const filter = readFilter(request.filter, OPERATION_FILTER);
        const paged = { list: 'operations', filter: request.filter, scope: caller.scope };
        const after = readPageToken(paged, request.pageToken);
        const page = await listOperations(dependencies.database, {
          filter,
          scope: caller.scope,
          after,
          size: pageSize(request.pageSize),
        });
        const stalls = await dependencies.stalls.read(caller.scope);
        return {
          operations: page.rows.map((operation) => operationMessage(operation, stalls)),
          nextPageToken: pageToken(paged, page.next),
        };
      },

      watchOperations: (request, context) => watchOperations(dependencies, request, context),

      async *streamOperationLogs(request, context) {
        const operation = await find(request.operationId, context);
        const { operationId } = operation;
        for await (const chunk of streamLog(dependencies, operation, request.cursor, context)) {
          yield { ...chunk, operationId };
        }
      },
    },
    {
      getOperation: 'viewer',
      listOperations: 'viewer',
      watchOperations: 'viewer',
      streamOperationLogs: 'viewer',
    },
  );
}
