/** The calls of administration. */
import {
  AdminService,
  DecommissionMode_Value,
  MachineFlag_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import {
  type GrowthCall,
  inMaintenance,
  inService,
  type LeftOut,
  labelled,
  newOperator,
  slow,
  stream,
  type Turn,
  unary,
} from './call.ts';

const admin = AdminService.method;
const reason = 'measured';

/** The label that the rule of `APPROVALS` asks for. */
const APPROVED = { approval: 'needed' };
/** Part of the configuration of the measured server. */
export const APPROVALS = [{ name: 'measured', filter: 'type=REIMAGE AND labels.approval=needed' }];

async function waitingForApproval(turn: Turn): Promise<string> {
  const machineId = await inMaintenance(turn);
  await labelled(turn.sql, machineId, APPROVED);
  const requester = await newOperator(turn);
  try {
    const { operationId } = await requester.unary(MachineService.method.reimageMachine, {
      machineId,
      requestId: turn.unique,
    });
    return operationId;
  } finally {
    requester.close();
  }
}

async function underWay(turn: Turn): Promise<string> {
  const { operationId } = await turn.client.unary(MachineService.method.rebootMachine, {
    machineId: await slow(turn),
    requestId: turn.unique,
  });
  return operationId;
}

async function token({ client, unique }: Turn): Promise<string> {
  const name = `token-${unique}`;
  await client.unary(admin.createToken, { name, role: 'viewer' });
  return name;
}

async function needsIntervention({ sql, machineId }: Turn): Promise<string> {
  await sql.query(
    `UPDATE machines SET conditions = conditions || '{"NeedsIntervention": {"status": true, "reason": "Measured",
       "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}' WHERE machine_id = $1`,
    [machineId],
  );
  return machineId;
}

export const ADMIN_MACHINES: readonly GrowthCall[] = [
  unary(admin.flagMachine, {
    use: 'daily',
    request: ({ machineId }) => ({ machineId, flag: MachineFlag_Value.RMA, reason }),
  }),
  unary(admin.unflagMachine, {
    use: 'daily',
    request: async ({ client, machineId }) => {
      const request = { machineId, flag: MachineFlag_Value.RMA, reason };
      await client.unary(admin.flagMachine, request);
      return request;
    },
  }),
  unary(admin.clearNeedsIntervention, {
    use: 'daily',
    request: async (turn) => ({ machineId: await needsIntervention(turn), reason }),
  }),
  unary(admin.createMachine, { use: 'daily', request: () => ({ pool: 'pool-3' }) }),
  unary(admin.createPool, { use: 'seldom', request: ({ unique }) => ({ name: `new-${unique}` }) }),
  unary(admin.listPools, { use: 'daily', request: () => ({}) }),
  unary(admin.getPool, { use: 'daily', request: () => ({ name: 'pool-3' }) }),
  unary(admin.decommissionMachine, {
    use: 'daily',
    request: async (turn) => ({
      machineId: await inService(turn, 'active'),
      requestId: turn.unique,
      mode: DecommissionMode_Value.SOFT_RESET,
    }),
  }),
  unary(admin.drainMachine, {
    use: 'daily',
    request: async (turn) => ({ machineId: await inService(turn, 'active'), requestId: turn.unique }),
  }),
  unary(admin.removeMachine, {
    use: 'daily',
    request: async (turn) => ({ machineId: await inService(turn, 'retired'), requestId: turn.unique }),
  }),
  unary(admin.setServiceState, {
    use: 'daily',
    request: async (turn) => ({
      machineId: await inService(turn, 'quarantined'),
      service: 'active',
      reason,
      force: true,
    }),
  }),
  unary(admin.explainMachine, { use: 'daily', request: ({ machineId }) => ({ machineId }) }),
];

export const ADMIN_OPERATIONS: readonly GrowthCall[] = [
  unary(admin.actOnOperation, {
    use: 'daily',
    request: async (turn) => ({
      operationId: await underWay(turn),
      action: OperatorAction_Value.CANCEL,
      reason,
    }),
  }),
  unary(admin.approveOperation, {
    use: 'daily',
    request: async (turn) => ({ operationId: await waitingForApproval(turn), reason }),
  }),
  unary(admin.rejectOperation, {
    use: 'daily',
    request: async (turn) => ({ operationId: await waitingForApproval(turn), reason }),
  }),
  unary(admin.listOperatorActions, {
    use: 'daily',
    request: async (turn) => ({ operationId: await underWay(turn) }),
  }),
  unary(admin.createPlan, {
    use: 'seldom',
    request: ({ unique }) => ({
      plan: {
        planId: `new-plan-${unique}`,
        steps: [{ name: 'one', kind: { case: 'reboot' as const, value: {} } }],
      },
    }),
  }),
];

export const ADMIN_ACCESS: readonly GrowthCall[] = [
  unary(admin.createToken, {
    use: 'seldom',
    request: ({ unique }) => ({ name: `new-${unique}`, role: 'viewer' }),
  }),
  unary(admin.listTokens, { use: 'daily', request: () => ({}) }),
  unary(admin.listSessions, { use: 'daily', request: () => ({}) }),
  unary(admin.listIdentities, { use: 'daily', request: () => ({}) }),
  unary(admin.revokeIdentity, {
    use: 'seldom',
    request: ({ unique }) => ({ identity: `corp:${unique}`, reason }),
  }),
  unary(admin.restoreIdentity, {
    use: 'seldom',
    request: async ({ client, unique }) => {
      const identity = `corp:${unique}`;
      await client.unary(admin.revokeIdentity, { identity, reason });
      return { identity, reason };
    },
  }),
  unary(admin.revokeToken, { use: 'seldom', request: async (turn) => ({ name: await token(turn) }) }),
  unary(admin.rotateToken, { use: 'seldom', request: async (turn) => ({ name: await token(turn) }) }),
  stream(admin.exportAudit, {
    use: 'daily',
    variant: 'the first lines of the last minute',
    request: () => {
      const seconds = BigInt(Math.floor(Date.now() / 1000) - 60);
      return { since: { seconds } };
    },
    last: () => true,
  }),
  unary(admin.getAuditKey, { use: 'seldom', request: () => ({}) }),
  unary(admin.rotateAuditKey, {
    use: 'seldom',
    request: async ({ client }) => ({ keyId: (await client.unary(admin.getAuditKey, {})).keyId }),
  }),
];

export const ADMIN_LEFT_OUT: readonly LeftOut[] = [
  { method: admin.onboardMachine, why: 'needs a MAAS' },
  { method: admin.eraseMachine, why: 'needs a BMC' },
  { method: admin.migrateMachine, why: 'needs a node that was installed' },
  { method: admin.endSession, why: 'needs a session of the console' },
];
