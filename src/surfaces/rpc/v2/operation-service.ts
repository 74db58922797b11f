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
import { defineService, type Service } from '../service.ts';
import { streamLog } from '../stream-log.ts';
import { operationMessage } from './to-proto.ts';
import { watchOperations } from './watch-operations.ts';

export function operationService(dependencies: ServerDependencies): Service {
  const find = async (id: string) => {
    const operationId = checkOperationId(id);
    const operation = await findOperation(dependencies.database, operationId);
    if (!operation) throw operationNotFound(operationId);
    return operation;
  };

  return defineService(
    OperationService,
    {
      async getOperation({ operationId }) {
        return operationMessage(await find(operationId));
      },

      async listOperations(request) {
        const filter = readFilter(request.filter, OPERATION_FILTER);
        const after = readPageToken('operations', request.filter, request.pageToken);
        const page = await listOperations(dependencies.database, {
          filter,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          operations: page.rows.map(operationMessage),
          nextPageToken: pageToken('operations', request.filter, page.next),
        };
      },

      watchOperations: (request, { signal }) => watchOperations(dependencies, request, signal),

      async *streamOperationLogs(request, { signal }) {
        const { operationId } = await find(request.operationId);
        for await (const chunk of streamLog(dependencies, operationId, request.cursor, signal)) {
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
