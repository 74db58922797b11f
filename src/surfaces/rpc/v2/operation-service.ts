/** baremetal.v2.OperationService: looking at operations. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { checkFilter } from '../../../domain/filter/check.ts';
import { parseFilter } from '../../../domain/filter/parse.ts';
import { checkOperationId } from '../../../domain/machine-input.ts';
import { OperationService } from '../../../gen/baremetal/v2/operation_service_pb.ts';
import { operationNotFound } from '../../../store/cancel-operation.ts';
import { OPERATION_FILTER } from '../../../store/filter-schemas.ts';
import { listOperations } from '../../../store/list.ts';
import { findOperation } from '../../../store/operations.ts';
import { cursorOf, pageSize, pageToken, readCursor, readPageToken } from '../page-token.ts';
import type { ServerParts } from '../server-parts.ts';
import { defineService, type Service } from '../service.ts';
import { operationMessage } from './to-proto.ts';
import { watchOperations } from './watch-operations.ts';

export function operationService(parts: ServerParts): Service {
  const find = async (id: string) => {
    const operationId = checkOperationId(id);
    const operation = await findOperation(parts.database, operationId);
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
        const filter =
          request.filter.trim() === '' ? null : checkFilter(parseFilter(request.filter), OPERATION_FILTER);
        const after = readPageToken('operations', request.filter, request.pageToken);
        const page = await listOperations(parts.database, {
          filter,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          operations: page.rows.map(operationMessage),
          nextPageToken: pageToken('operations', request.filter, page.next),
        };
      },

      watchOperations: (request, { signal }) => watchOperations(parts, request, signal),

      async *streamOperationLogs(request, { signal }) {
        const { operationId } = await find(request.operationId);
        const [epoch, line] = readCursor('log', request.cursor) ?? [-1, -1];
        for await (const lines of parts.logs.follow(operationId, { epoch, line }, signal)) {
          for (const stored of lines) {
            yield {
              ts: timestampFromDate(stored.at),
              operationId,
              stream: stored.stream,
              data: Buffer.from(`${stored.text}\n`),
              cursor: cursorOf('log', [stored.epoch, stored.line]),
              step: stored.step,
            };
          }
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
