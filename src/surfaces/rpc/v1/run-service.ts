/** baremetal.v1.RunService: runs are the operations as docs/api-v1.md shows them. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { actingAs } from '../../../domain/access/caller.ts';
import { RUN_FILTER } from '../../../domain/filter/operation-filter.ts';
import {
  checkMachineId,
  checkOperationId,
  checkRequestId,
  checkText,
} from '../../../domain/machine/machine-input.ts';
import { runIdOf } from '../../../domain/v1/run-id.ts';
import { v1Text } from '../../../domain/v1/v1-words.ts';
import { RunEvent_Kind, type RunEventSchema } from '../../../gen/baremetal/v1/run_pb.ts';
import { RunService } from '../../../gen/baremetal/v1/run_service_pb.ts';
import { cancelOperation } from '../../../operations/act/cancel-operation.ts';
import { startRun } from '../../../operations/start/start-run.ts';
import { listOperations } from '../../../store/machines/list.ts';
import { findOperation } from '../../../store/operations/find-operations.ts';
import { operationNotFound } from '../../../store/operations/operation-faults.ts';
import type { Change, ChangeKind } from '../operation-changes.ts';
import { pageSize, pageToken, readPageToken } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { CallContext, Service } from '../service.ts';
import { startOptions } from '../start-options.ts';
import { streamLog } from '../stream-log.ts';
import { watchChanges } from '../watch-changes.ts';
import { defineV1Service } from './define-v1-service.ts';
import { checkPlanId, checkRunType } from './run-input.ts';
import { runMessage } from './to-proto.ts';

const KINDS = {
  snapshot: RunEvent_Kind.SNAPSHOT,
  synced: RunEvent_Kind.SYNCED,
  operation: RunEvent_Kind.RUN,
  step: RunEvent_Kind.STEP,
  progress: RunEvent_Kind.PROGRESS,
} as const satisfies Record<ChangeKind, RunEvent_Kind>;

function messageOf(change: Change): MessageInitShape<typeof RunEventSchema> {
  return {
    ts: timestampFromDate(change.at),
    ...(change.operation && { snapshot: runMessage(change.operation) }),
    message: v1Text(change.message),
    cursor: change.cursor,
    kind: KINDS[change.kind],
    step: change.step,
  };
}

export function runService(dependencies: ServerDependencies): Service {
  const find = async (id: string, { caller }: CallContext) => {
    const operationId = checkOperationId(id, 'run_id');
    const operation = await findOperation(dependencies.database, operationId, caller.scope);
    if (!operation) throw operationNotFound(operationId);
    return operation;
  };

  return defineV1Service(
    RunService,
    {
      async startRun(request, { caller }) {
        const requestId = checkRequestId(request.requestId);
        const machineId = checkMachineId(request.machineId);
        const type = checkRunType(request.type);
        const planId = request.planId === '' ? '' : checkPlanId(request.planId);
        return runMessage(
          await startRun(dependencies, {
            ...{ type, machineId, requestId, planId },
            ...actingAs(caller),
            ...startOptions(request, caller),
          }),
        );
      },

      async getRun({ runId }, context) {
        return runMessage(await find(runId, context));
      },

      async listRuns(request, { caller }) {
        const filter = readFilter(request.filter, RUN_FILTER);
        const paged = { list: 'v1.runs', filter: request.filter, scope: caller.scope };
        const after = readPageToken(paged, request.pageToken);
        const page = await listOperations(dependencies.database, {
          filter,
          scope: caller.scope,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          runs: page.rows.map(runMessage),
          nextPageToken: pageToken(paged, page.next),
        };
      },

      async cancelRun(request, { caller }) {
        const operationId = checkOperationId(request.runId, 'run_id');
        const reason = checkText(request.reason, 'reason', 1000);
        return runMessage(await cancelOperation(dependencies, { operationId, reason, ...actingAs(caller) }));
      },

      watchRuns({ filter, cursor, sendSynced }, { caller: { scope }, signal }) {
        const call = { api: 'v1', filter, cursor, sendSynced, schema: RUN_FILTER, scope, messageOf } as const;
        return watchChanges(dependencies, call, signal);
      },

      async *streamRunLogs(request, context) {
        const operation = await find(request.runId, context);
        const { operationId } = operation;
        const runId = runIdOf(operationId);
        for await (const chunk of streamLog(dependencies, operation, request.cursor, context)) {
          yield { ...chunk, runId };
        }
      },
    },
    {
      startRun: 'operator',
      getRun: 'viewer',
      listRuns: 'viewer',
      cancelRun: 'operator',
      watchRuns: 'viewer',
      streamRunLogs: 'viewer',
    },
  );
}
