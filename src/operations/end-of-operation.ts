import { actorLabel } from '../domain/actor.ts';
import type { MachineChange } from '../domain/machine/machine-change.ts';
import { type CompletionPolicyName, changeAtEnd } from '../domain/operation/completion-policy.ts';
import type { OperationType } from '../domain/operation/operation-type.ts';
import type { Job } from '../engine/job.ts';

/** What the end of an operation does to its machine; null while it is active. */
export function endOf(operation: Job): MachineChange | null {
  return changeAtEnd(operation.completionPolicy as CompletionPolicyName, {
    operationId: operation.id,
    type: operation.type as OperationType,
    status: operation.status,
    failedStep: operation.error?.step ?? '',
    failureCode: operation.error?.code ?? '',
    failure: operation.error?.message ?? '',
    canceledBy: operation.cancel ? actorLabel(operation.cancel.actor) : '',
    retires: operation.steps.some(({ name }) => name === 'retire_gpuaas_node'),
  });
}
