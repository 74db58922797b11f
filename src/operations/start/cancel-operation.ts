import type { Actor } from '../../domain/actor.ts';
import { actorLabel } from '../../domain/actor.ts';
import { changeAtEnd } from '../../domain/operation/completion-policy.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Database } from '../../store/database/database.ts';
import {
  type CancelCall,
  cancelOperation as cancelStored,
} from '../../store/operations/writer/cancel-operation.ts';

export interface CancelDependencies {
  readonly database: Database;
  readonly cancelHint: (operationId: string) => void;
}

export async function cancelOperation(
  dependencies: CancelDependencies,
  call: { operationId: string; reason: string; actor: Actor },
): Promise<Operation> {
  const operation = await cancelStored(dependencies.database, cancelCall(call));
  dependencies.cancelHint(call.operationId);
  return operation;
}

/** With what its end does to the machine, where it ends at once. */
export function cancelCall(call: { operationId: string; reason: string; actor: Actor }): CancelCall {
  return {
    ...call,
    onCanceled: ({ operationId, type, completionPolicy }) =>
      changeAtEnd(completionPolicy, {
        operationId,
        type,
        status: 'cancelled',
        failedStep: '',
        failureCode: '',
        failure: '',
        canceledBy: actorLabel(call.actor),
        retires: false,
      }),
  };
}
