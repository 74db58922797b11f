/** The refusals of starts, cancels and actions that depend on stored operations. */
import { Fault } from '../../domain/error/fault.ts';
import type { Operation } from '../../domain/operation/operation.ts';

export function operationNotFound(operationId: string): Fault {
  return new Fault('OPERATION_NOT_FOUND', {
    message: `there is no operation ${operationId}`,
    metadata: { operation_id: operationId },
  });
}

export function activeFault(machineId: string, operationId: string): Fault {
  return new Fault('OPERATION_ACTIVE', {
    message: `${machineId} has an active operation, ${operationId}; wait for it or cancel it`,
    metadata: { machine_id: machineId, operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: 'is still active' }],
  });
}

export function operationFinished({ operationId, status }: Operation): Fault {
  return new Fault('OPERATION_FINISHED', {
    message: `${operationId} has already ended (${status})`,
    metadata: { operation_id: operationId, status },
    violations: [{ subject: `operations/${operationId}`, description: `is ${status}` }],
  });
}

export function requestIdReused({ operationId, machineId, requestId, type }: Operation): Fault {
  return new Fault('REQUEST_ID_REUSED', {
    message: `request_id ${requestId} already started ${operationId} (${type}) on ${machineId} with other content; use a new request_id for new work`,
    metadata: { operation_id: operationId, machine_id: machineId, request_id: requestId },
  });
}

export function actionNotApplicable(operationId: string, why: string): Fault {
  return new Fault('ACTION_NOT_APPLICABLE', {
    message: `${operationId} can't take this action: ${why}`,
    metadata: { operation_id: operationId },
    violations: [{ subject: `operations/${operationId}`, description: why }],
  });
}
