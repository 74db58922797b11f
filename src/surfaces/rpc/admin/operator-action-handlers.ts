/** What operators do with an operation that stopped, and the record of it. */

import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { actingAs } from '../../../domain/access/caller.ts';
import { inAnyCase } from '../../../domain/any-case.ts';
import { invalidField } from '../../../domain/error/fault.ts';
import { checkOperationId } from '../../../domain/machine/machine-input.ts';
import { commandFor, nextActionFor } from '../../../domain/operation/next-action.ts';
import { OPERATOR_ACTION_NAMES, type OperatorAction } from '../../../domain/operation/operator-action.ts';
import { type AdminService, OperatorAction_Value } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { actOnOperation } from '../../../operations/act/act-on-operation.ts';
import { findOperation } from '../../../store/operations/find-operations.ts';
import { listActions } from '../../../store/operations/list-actions.ts';
import { operationNotFound } from '../../../store/operations/operation-faults.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { operationMessage } from '../v2/to-proto.ts';
import { requiredReason } from './required-reason.ts';

const MAX_ACTIONS = 100;

export function operatorActionHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof AdminService>, 'actOnOperation' | 'listOperatorActions'> {
  return {
    async actOnOperation(request, { caller }) {
      const operation = await actOnOperation(dependencies, {
        operationId: checkOperationId(request.operationId),
        action: actionOf(request.action),
        reason: requiredReason(request.reason),
        ...actingAs(caller),
      });
      return operationMessage(operation);
    },

    async listOperatorActions(request, { caller }) {
      const operationId = checkOperationId(request.operationId);
      const operation = await findOperation(dependencies.database, operationId, caller.scope);
      if (!operation) throw operationNotFound(operationId);
      const records = await listActions(dependencies.database, operationId, MAX_ACTIONS);
      const next = nextActionFor(operation);
      return {
        advice: { ...next, action: next.action ?? '', command: commandFor(operationId, next) },
        actions: records.map(({ at, from, to, ...record }) => ({
          ...record,
          at: timestampFromDate(at),
          fromStatus: from,
          toStatus: to,
        })),
      };
    },
  };
}

function actionOf(value: OperatorAction_Value): OperatorAction {
  const action = inAnyCase(OPERATOR_ACTION_NAMES, OperatorAction_Value[value] ?? '');
  if (!action)
    throw invalidField('action', `must be one of ${OPERATOR_ACTION_NAMES.join(', ').toUpperCase()}`);
  return action;
}
