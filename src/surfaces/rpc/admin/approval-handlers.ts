/** The decisions on operations that wait for approval. */
import { checkOperationId } from '../../../domain/machine/machine-input.ts';
import type { AdminService } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { decideApproval } from '../../../operations/act/approve-operation.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { operationMessage } from '../v2/to-proto.ts';
import { optionalReason, requiredReason } from './required-reason.ts';

export function approvalHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof AdminService>, 'approveOperation' | 'rejectOperation'> {
  return {
    async approveOperation(request, { caller }) {
      const operationId = checkOperationId(request.operationId);
      const comment = optionalReason(request.reason);
      return operationMessage(
        await decideApproval(dependencies, { operationId, decision: 'approved', comment, caller }),
      );
    },

    async rejectOperation(request, { caller }) {
      const operationId = checkOperationId(request.operationId);
      const comment = requiredReason(request.reason);
      return operationMessage(
        await decideApproval(dependencies, { operationId, decision: 'rejected', comment, caller }),
      );
    },
  };
}
