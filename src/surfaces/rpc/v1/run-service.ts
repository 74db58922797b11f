/** baremetal.v1.RunService: runs are the operations as docs/api-v1.md shows them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RUN_FILTER } from '../../../domain/filter/operation-filter.ts';
import {
  checkMachineId,
  checkOperationId,
  checkRequestId,
  checkText,
} from '../../../domain/machine/machine-input.ts';
import { runIdOf } from '../../../domain/v1/run-id.ts';
import { v1Text } from '../../../domain/v1/v1-words.ts';
import { RunEvent_Kind } from '../../../gen/baremetal/v1/run_pb.ts';
import { RunService } from '../../../gen/baremetal/v1/run_service_pb.ts';
import { cancelOperation } from '../../../operations/act/cancel-operation.ts';
import { startRun } from '../../../operations/start/start-run.ts';
import { listOperations } from '../../../store/machines/list.ts';
import { findOperation } from '../../../store/operations/find-operations.ts';
import { operationNotFound } from '../../../store/operations/operation-faults.ts';
import { pageSize, pageToken, readPageToken } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Service } from '../service.ts';
import { streamLog } from '../stream-log.ts';
import { type ChangeKind, watchChanges } from '../watch-changes.ts';
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

export function runService(dependencies: ServerDependencies): Service {
  const find = async (id: string) => {
    const operationId = checkOperationId(id, 'run_id');
    const operation = await findOperation(dependencies.database, operationId);
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
          await startRun(dependencies, { type, machineId, requestId, planId, actor: caller.actor }),
        );
      },

      async getRun({ runId }) {
        return runMessage(await find(runId));
      },

      async listRuns(request) {
        const filter = readFilter(request.filter, RUN_FILTER);
        const after = readPageToken('v1.runs', request.filter, request.pageToken);
        const page = await listOperations(dependencies.database, {
          filter,
          after,
          size: pageSize(request.pageSize),
        });
        return {
          runs: page.rows.map(runMessage),
          nextPageToken: pageToken('v1.runs', request.filter, page.next),
        };
      },

      async cancelRun(request, { caller }) {
        const operationId = checkOperationId(request.runId, 'run_id');
        const reason = checkText(request.reason, 'reason', 1000);
        return runMessage(await cancelOperation(dependencies, { operationId, reason, actor: caller.actor }));
      },

      async *watchRuns({ filter, cursor, sendSynced }, { signal }) {
        const call = { filter, cursor, sendSynced, schema: RUN_FILTER };
        for await (const change of watchChanges(dependencies, call, signal)) {
          yield {
            ts: timestampFromDate(change.at),
            ...(change.operation && { snapshot: runMessage(change.operation) }),
            message: v1Text(change.message),
            cursor: change.cursor,
            kind: KINDS[change.kind],
            step: change.step,
          };
        }
      },

      async *streamRunLogs(request, { signal }) {
        const { operationId } = await find(request.runId);
        const runId = runIdOf(operationId);
        for await (const chunk of streamLog(dependencies, operationId, request.cursor, signal)) {
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
