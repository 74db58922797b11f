import type { Acting } from '../../domain/access/caller.ts';
import { actorLabel } from '../../domain/actor.ts';
import { changeAtEnd } from '../../domain/operation/completion-policy.ts';
import type { Operation } from '../../domain/operation/operation.ts';
import type { Database } from '../../store/database/database.ts';
import { type CancelCall, recordCancel } from '../../store/operations/writer/record-cancel.ts';

export interface CancelDependencies {
  readonly database: Database;
  readonly notifyCancel: (operationId: string) => void;
}

export async function cancelOperation(
  dependencies: CancelDependencies,
  call: Acting & { readonly operationId: string; readonly reason: string },
): Promise<Operation> {
  const operation = await recordCancel(dependencies.database, cancelCall(call));
  dependencies.notifyCancel(call.operationId);
  return operation;
}

/** The cancel, with what it does to the machine of an operation that ends at once. */
export function cancelCall(
  call: Acting & { readonly operationId: string; readonly reason: string },
): CancelCall {
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
