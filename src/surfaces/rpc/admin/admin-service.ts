/** baremetal.admin.v1.AdminService: the handlers by subject, and the role that each call needs. */
import { AdminService } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';
import { approvalHandlers } from './approval-handlers.ts';
import { auditHandlers } from './audit-handlers.ts';
import { identityHandlers } from './identity-handlers.ts';
import { machineHandlers } from './machine-handlers.ts';
import { operatorActionHandlers } from './operator-action-handlers.ts';
import { poolHandlers } from './pool-handlers.ts';
import { sessionHandlers } from './session-handlers.ts';
import { tokenHandlers } from './token-handlers.ts';
import { workflowHandlers } from './workflow-handlers.ts';

export function adminService(dependencies: ServerDependencies): Service {
  return defineService(
    AdminService,
    {
      ...machineHandlers(dependencies),
      ...poolHandlers(dependencies),
      ...workflowHandlers(dependencies),
      ...operatorActionHandlers(dependencies),
      ...approvalHandlers(dependencies),
      ...tokenHandlers(dependencies),
      ...sessionHandlers(dependencies),
      ...identityHandlers(dependencies),
      ...auditHandlers(dependencies),
    },
    {
      flagMachine: 'admin',
      unflagMachine: 'admin',
      clearNeedsIntervention: 'admin',
      createMachine: 'operator',
      createPool: 'admin',
      listPools: 'viewer',
      getPool: 'viewer',
      onboardMachine: 'operator',
      decommissionMachine: 'operator',
      drainMachine: 'operator',
      removeMachine: 'operator',
      eraseMachine: 'admin',
      migrateMachine: 'admin',
      setServiceState: 'operator',
      actOnOperation: 'operator',
      approveOperation: 'operator',
      rejectOperation: 'operator',
      listOperatorActions: 'viewer',
      explainMachine: 'viewer',
      createPlan: 'admin',
      createToken: 'admin',
      listTokens: 'admin',
      revokeToken: 'admin',
      exportAudit: 'admin',
      getAuditKey: 'admin',
      rotateAuditKey: 'admin',
      rotateToken: 'admin',
      listSessions: 'admin',
      endSession: 'admin',
      listIdentities: 'admin',
      revokeIdentity: 'admin',
      restoreIdentity: 'admin',
    },
  );
}
