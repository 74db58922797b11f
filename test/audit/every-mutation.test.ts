// @module-tag extended: changes.test.ts and refusals.test.ts have events of each kind; this has a row for each call.
/**
 * Every method and every route is here: one that only reads, one that is called below and must leave an event of its call, or one
 * that says why not. A new one fails until it has its row.
 */
import { createHash } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EventKind } from '../../src/domain/event.ts';
import {
  AdminService,
  MachineFlag_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { Console_State, ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import {
  RolloutService,
  type RolloutStepSchema,
  Wave_State,
} from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { ViewService } from '../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { approvalsConfiguration } from '../../src/server/settings/approval-configuration.ts';
import { SERVICES } from '../../src/surfaces/access/known-methods.ts';
import { REST_API } from '../../src/surfaces/rest/api/rest-api.ts';
import type { RestRoute } from '../../src/surfaces/rest/api/route.ts';
import { post, registration } from '../agents/calls.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { boot, call, createNode, newMac, prepareInstall } from '../nodes/rest.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import { heldRollout } from '../security/tenants.ts';

let server: TestServer;

beforeAll(async () => {
  const approvals = approvalsConfiguration.parse(['type=REIMAGE AND labels.env=prod']);
  server = await startTestServer({ pools: ['pool'], configuration: { approvals } });
  await prepareInstall(server);
});
afterAll(() => server?.stop());

/** What the call changes, done for real; it returns when the call is answered. */
interface Changes {
  readonly kind: EventKind;
  /** Calls of many agents are stored in one batch: their events name the machine, not the call. */
  readonly origin?: 'none';
  /** What must be there before the call. */
  readonly before?: () => Promise<string>;
  readonly call: (given: string) => Promise<unknown>;
}

type Row = 'reads' | Changes | { readonly why: string };

/** With a machine whose service state is this, as if its workflow had brought it there. */
async function inService(service: string): Promise<string> {
  const machineId = await newMachine(server);
  await server.sql('UPDATE machines SET service = $2 WHERE machine_id = $1', [machineId, service]);
  return machineId;
}

/** A reimage that waits for its second person. */
async function waitingForApproval(): Promise<string> {
  const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels: { env: 'prod' } });
  const { secret } = await server.admin.createToken({ name: fresh('requester'), role: 'operator' });
  const asked = await server
    .client(MachineService, secret)
    .reimageMachine({ machineId, requestId: requestId() });
  return asked.operationId;
}

/** A node that was installed, in maintenance. */
async function maintainedNode(): Promise<string> {
  const { id } = await createNode(server);
  await server.sql(`UPDATE machines SET install = 'active' WHERE machine_id = $1`, [id]);
  await run(server, 'ENTER_MAINTENANCE', id);
  return id;
}

const rollouts = () => server.client(RolloutService, server.adminToken);

/** A rollout that waits for the approval of its wave. */
async function held(): Promise<string> {
  const machineId = await newMachine(server, { phase: 'READY' });
  const spec = heldRollout(machineId);
  const { rolloutId } = await rollouts().createRollout({ spec, requestId: requestId() });
  await until(
    () => rollouts().getRollout({ rolloutId }),
    ({ waves }) => waves[0]?.state === Wave_State.WAITING_FOR_APPROVAL,
  );
  return rolloutId;
}

function onRollout(change: (rolloutId: string) => Promise<unknown>): Changes {
  return { kind: 'rollout', before: held, call: change };
}

async function endedRollout(
  machineIds: string[],
  step: MessageInitShape<typeof RolloutStepSchema>,
): Promise<string> {
  const spec = { machineIds, steps: [step] };
  const { rolloutId } = await rollouts().createRollout({ spec, requestId: requestId() });
  await until(
    () => rollouts().getRollout({ rolloutId }),
    ({ finishedAt }) => finishedAt !== undefined,
  );
  return rolloutId;
}

const views = () => server.client(ViewService, server.adminToken);
const newView = () => ({ page: 'machines', name: fresh('view'), query: 'filter=phase%3DREADY' });

const bmc = () => server.client(BmcService, server.adminToken);
const hardware = () => server.client(HardwareService, server.adminToken);
async function newProfile(): Promise<string> {
  const profile = { name: fresh('profile'), match: 'labels.sku=x', expect: ['hardware.gpu.count=8'] };
  return (await hardware().setHardwareProfile({ profile })).name;
}

const consoles = () => server.client(ConsoleService, server.adminToken);
async function openedConsole(): Promise<string> {
  return (await consoles().openConsole({ machineId: await newMachine(server) })).sessionId;
}
/** A session that has the turn, of a console that is connected. */
async function writingConsole(): Promise<string> {
  const sessionId = await openedConsole();
  const { machineId } = await consoles().takeConsole({ sessionId });
  await until(
    () => consoles().getConsole({ machineId }),
    ({ state }) => state === Console_State.OPEN,
  );
  return sessionId;
}

const runs = () => server.client(RunService, server.adminToken);
const slow = { 'fake/step-ms': '60000' };

const requestId = () => fresh('request');
const machine = () => newMachine(server);

const METHODS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  [MachineService.typeName]: {
    registerMachine: {
      kind: 'machine',
      call: () => server.machines.registerMachine({ machine: { machineId: fresh('m') } }),
    },
    getMachine: 'reads',
    listMachines: 'reads',
    updateMachine: {
      kind: 'machine',
      before: machine,
      call: (machineId) => server.machines.updateMachine({ machine: { machineId, labels: { a: 'b' } } }),
    },
    rebootMachine: {
      kind: 'operation',
      before: () => newMachine(server, { phase: 'READY' }),
      call: (machineId) => server.machines.rebootMachine({ machineId, requestId: requestId() }),
    },
    reimageMachine: {
      kind: 'operation',
      before: () => newMachine(server, { phase: 'MAINTENANCE' }),
      call: (machineId) => server.machines.reimageMachine({ machineId, requestId: requestId() }),
    },
    enterMaintenance: {
      kind: 'operation',
      before: machine,
      call: (machineId) => server.machines.enterMaintenance({ machineId, requestId: requestId() }),
    },
    exitMaintenance: {
      kind: 'operation',
      before: () => newMachine(server, { phase: 'MAINTENANCE' }),
      call: (machineId) => server.machines.exitMaintenance({ machineId, requestId: requestId() }),
    },
    cancelOperation: {
      kind: 'operation',
      before: async () => {
        const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '60000' } });
        return (await server.machines.rebootMachine({ machineId, requestId: requestId() })).operationId;
      },
      call: (operationId) => server.machines.cancelOperation({ operationId }),
    },
  },
  [OperationService.typeName]: {
    getOperation: 'reads',
    listOperations: 'reads',
    watchOperations: 'reads',
    streamOperationLogs: 'reads',
  },
  [MachineServiceV1.typeName]: {
    registerMachine: {
      kind: 'machine',
      call: () =>
        server
          .client(MachineServiceV1, server.adminToken)
          .registerMachine({ machine: { machineId: fresh('m') } }),
    },
    getMachine: 'reads',
    listMachines: 'reads',
    updateMachine: {
      kind: 'machine',
      before: machine,
      call: (machineId) =>
        server
          .client(MachineServiceV1, server.adminToken)
          .updateMachine({ machine: { machineId, labels: { a: 'b' } } }),
    },
  },
  [PlanService.typeName]: { getPlan: 'reads', listPlans: 'reads' },
  [RunService.typeName]: {
    startRun: {
      kind: 'operation',
      before: () => newMachine(server, { phase: 'READY' }),
      call: (machineId) => runs().startRun({ machineId, requestId: requestId(), type: 'REBOOT' }),
    },
    getRun: 'reads',
    listRuns: 'reads',
    watchRuns: 'reads',
    streamRunLogs: 'reads',
    cancelRun: {
      kind: 'operation',
      before: async () => {
        const machineId = await newMachine(server, { phase: 'READY', labels: slow });
        return (await runs().startRun({ machineId, requestId: requestId(), type: 'REBOOT' })).runId;
      },
      call: (runId) => runs().cancelRun({ runId }),
    },
  },
  [FleetService.typeName]: {
    whoAmI: 'reads',
    getOverview: 'reads',
    countMachines: 'reads',
    indexMachines: 'reads',
    getMachines: 'reads',
    watchEvents: 'reads',
    listEvents: 'reads',
    getMetricHistory: 'reads',
    getFleetHistory: 'reads',
    listProviders: 'reads',
  },
  [RolloutService.typeName]: {
    previewRollout: 'reads',
    createRollout: {
      kind: 'rollout',
      before: () => newMachine(server, { phase: 'READY' }),
      call: (machineId) => rollouts().createRollout({ spec: heldRollout(machineId), requestId: requestId() }),
    },
    getRollout: 'reads',
    listRollouts: 'reads',
    watchRollout: 'reads',
    listRolloutMachines: 'reads',
    pauseRollout: onRollout((rolloutId) => rollouts().pauseRollout({ rolloutId, requestId: requestId() })),
    resumeRollout: {
      kind: 'rollout',
      before: async () => {
        const rolloutId = await held();
        await rollouts().pauseRollout({ rolloutId, requestId: requestId() });
        return rolloutId;
      },
      call: (rolloutId) => rollouts().resumeRollout({ rolloutId, requestId: requestId() }),
    },
    abortRollout: onRollout((rolloutId) => rollouts().abortRollout({ rolloutId, requestId: requestId() })),
    approveWave: onRollout((rolloutId) => rollouts().approveWave({ rolloutId, requestId: requestId() })),
    rejectWave: onRollout((rolloutId) => rollouts().rejectWave({ rolloutId, requestId: requestId() })),
    retryFailed: {
      kind: 'rollout',
      before: async () => {
        const labels = { 'fake/fail-step': 'reboot' };
        const machineId = await newMachine(server, { phase: 'READY', labels });
        return endedRollout([machineId], { step: { case: 'reboot', value: {} } });
      },
      call: (rolloutId) => rollouts().retryFailed({ rolloutId, requestId: requestId() }),
    },
    skipMachines: onRollout(async (rolloutId) => {
      const { machines } = await rollouts().listRolloutMachines({ rolloutId });
      const machineIds = machines.map((each) => each.machineId);
      return rollouts().skipMachines({ rolloutId, requestId: requestId(), machineIds });
    }),
    updateLimits: onRollout((rolloutId) =>
      rollouts().updateLimits({ rolloutId, requestId: requestId(), maxParallel: '1' }),
    ),
    rollBack: {
      kind: 'rollout',
      before: async () => {
        const machineId = await newMachine(server, { phase: 'MAINTENANCE' });
        await run(server, 'REIMAGE', machineId, { imageRef: 'before' });
        return endedRollout([machineId], { step: { case: 'reimage', value: { imageRef: 'after' } } });
      },
      call: (rolloutId) => rollouts().rollBack({ rolloutId, requestId: requestId() }),
    },
    createBudget: {
      kind: 'budget',
      call: () => rollouts().createBudget({ budget: { name: fresh('budget'), maxUnavailable: '1000' } }),
    },
    listBudgets: 'reads',
    deleteBudget: {
      kind: 'budget',
      before: async () => {
        const name = fresh('budget');
        await rollouts().createBudget({ budget: { name, maxUnavailable: '1000' } });
        return name;
      },
      call: (name) => rollouts().deleteBudget({ name }),
    },
  },
  [HardwareService.typeName]: {
    getHardware: 'reads',
    listHardwareChanges: 'reads',
    diffHardware: 'reads',
    getEraseCertificate: 'reads',
    getBurnIn: 'reads',
    listSensors: 'reads',
    getSensorHistory: 'reads',
    listHardwareLog: 'reads',
    getLemonScore: 'reads',
    listLemons: 'reads',
    listHardwareProfiles: 'reads',
    setHardwareProfile: { kind: 'hardware', call: () => newProfile() },
    deleteHardwareProfile: {
      kind: 'hardware',
      before: newProfile,
      call: (name) => hardware().deleteHardwareProfile({ name }),
    },
    inspectMachine: {
      kind: 'operation',
      before: machine,
      call: (machineId) => hardware().inspectMachine({ machineId, requestId: requestId() }),
    },
  },
  [ConsoleService.typeName]: {
    getConsole: 'reads',
    openConsole: {
      kind: 'console',
      before: machine,
      call: (machineId) => consoles().openConsole({ machineId }),
    },
    readConsole: 'reads',
    takeConsole: {
      kind: 'console',
      before: openedConsole,
      call: (sessionId) => consoles().takeConsole({ sessionId }),
    },
    releaseConsole: {
      kind: 'console',
      before: writingConsole,
      call: (sessionId) => consoles().releaseConsole({ sessionId }),
    },
    writeConsole: {
      kind: 'console',
      before: writingConsole,
      call: (sessionId) => consoles().writeConsole({ sessionId, data: Buffer.from('x') }),
    },
    closeConsole: {
      kind: 'console',
      before: openedConsole,
      call: (sessionId) => consoles().closeConsole({ sessionId }),
    },
    getConsoleLog: {
      kind: 'console',
      before: machine,
      call: (machineId) => consoles().getConsoleLog({ machineId }),
    },
  },
  [BmcService.typeName]: {
    getPower: 'reads',
    getBootOverride: 'reads',
    getBmcCertificate: 'reads',
    changePower: {
      kind: 'operation',
      before: machine,
      call: (machineId) => bmc().changePower({ machineId, requestId: requestId(), action: 'on' }),
    },
    setPowerCap: {
      kind: 'operation',
      before: machine,
      call: (machineId) => bmc().setPowerCap({ machineId, requestId: requestId(), watts: 450 }),
    },
    setBootOverride: {
      kind: 'operation',
      before: machine,
      call: (machineId) => bmc().setBootOverride({ machineId, requestId: requestId(), source: 'pxe' }),
    },
    clearBmcLog: {
      kind: 'operation',
      before: machine,
      call: (machineId) => bmc().clearBmcLog({ machineId, requestId: requestId() }),
    },
    resetBmc: {
      kind: 'operation',
      before: machine,
      call: (machineId) => bmc().resetBmc({ machineId, requestId: requestId() }),
    },
    rotateBmcPassword: {
      kind: 'operation',
      before: machine,
      call: (machineId) => bmc().rotateBmcPassword({ machineId, requestId: requestId() }),
    },
    locateMachine: {
      kind: 'hardware',
      before: machine,
      call: (machineId) => bmc().locateMachine({ machineId }),
    },
    trustBmcCertificate: {
      kind: 'machine',
      before: machine,
      call: async (machineId) => {
        const { sha256 } = await bmc().getBmcCertificate({ machineId });
        return bmc().trustBmcCertificate({ machineId, sha256 });
      },
    },
  },
  [ViewService.typeName]: {
    listViews: 'reads',
    saveView: { kind: 'view', call: () => views().saveView(newView()) },
    deleteView: {
      kind: 'view',
      before: async () => (await views().saveView(newView())).name,
      call: (name) => views().deleteView({ page: 'machines', name }),
    },
    shareView: { kind: 'view', call: () => views().shareView(newView()) },
    unshareView: {
      kind: 'view',
      before: async () => (await views().shareView(newView())).name,
      call: (name) => views().unshareView({ page: 'machines', name }),
    },
  },
  [AdminService.typeName]: {
    flagMachine: {
      kind: 'condition',
      before: machine,
      call: (machineId) => server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'r' }),
    },
    unflagMachine: {
      kind: 'condition',
      before: async () => {
        const machineId = await machine();
        await server.admin.flagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'r' });
        return machineId;
      },
      call: (machineId) =>
        server.admin.unflagMachine({ machineId, flag: MachineFlag_Value.RMA, reason: 'r' }),
    },
    clearNeedsIntervention: {
      kind: 'condition',
      before: async () => {
        const machineId = await newMachine(server, {
          phase: 'MAINTENANCE',
          labels: { 'fake/fail-step': 'verify' },
          spec: { targetClusterRef: 'c' },
        });
        await run(server, 'REIMAGE', machineId);
        return machineId;
      },
      call: (machineId) => server.admin.clearNeedsIntervention({ machineId, reason: 'r' }),
    },
    createMachine: { kind: 'machine', call: () => server.admin.createMachine({ pool: 'pool' }) },
    createPool: { kind: 'pool', call: () => server.admin.createPool({ name: fresh('pool') }) },
    listPools: 'reads',
    getPool: 'reads',
    onboardMachine: { why: 'needs a MAAS: test/maas/onboarding.test.ts has its events' },
    decommissionMachine: {
      kind: 'operation',
      before: () => inService('active'),
      call: (machineId) => server.admin.decommissionMachine({ machineId, requestId: requestId(), mode: 1 }),
    },
    drainMachine: {
      kind: 'operation',
      before: () => inService('active'),
      call: (machineId) => server.admin.drainMachine({ machineId, requestId: requestId() }),
    },
    removeMachine: {
      kind: 'operation',
      before: () => inService('retired'),
      call: (machineId) => server.admin.removeMachine({ machineId, requestId: requestId() }),
    },
    eraseMachine: { why: 'needs a BMC: test/nodes/erasure.test.ts has its events' },
    migrateMachine: {
      kind: 'operation',
      before: maintainedNode,
      call: (machineId) =>
        server.admin.migrateMachine({ machineId, requestId: requestId(), macAddresses: [newMac()] }),
    },
    setServiceState: {
      kind: 'service',
      before: () => inService('quarantined'),
      call: (machineId) =>
        server.admin.setServiceState({ machineId, service: 'active', reason: 'r', force: true }),
    },
    actOnOperation: {
      kind: 'operation',
      before: async () => {
        const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/step-ms': '60000' } });
        return (await server.machines.rebootMachine({ machineId, requestId: requestId() })).operationId;
      },
      call: (operationId) =>
        server.admin.actOnOperation({ operationId, action: OperatorAction_Value.CANCEL, reason: 'r' }),
    },
    approveOperation: {
      kind: 'operation',
      before: waitingForApproval,
      call: (operationId) => server.admin.approveOperation({ operationId, reason: 'r' }),
    },
    rejectOperation: {
      kind: 'operation',
      before: waitingForApproval,
      call: (operationId) => server.admin.rejectOperation({ operationId, reason: 'r' }),
    },
    listOperatorActions: 'reads',
    explainMachine: 'reads',
    createPlan: {
      kind: 'plan',
      call: () =>
        server.admin.createPlan({
          plan: { planId: fresh('plan'), steps: [{ name: 'one', kind: { case: 'reboot', value: {} } }] },
        }),
    },
    createToken: {
      kind: 'token',
      call: () => server.admin.createToken({ name: fresh('token'), role: 'viewer' }),
    },
    listTokens: 'reads',
    revokeToken: {
      kind: 'token',
      before: async () => {
        const name = fresh('token');
        await server.admin.createToken({ name, role: 'viewer' });
        return name;
      },
      call: (name) => server.admin.revokeToken({ name }),
    },
    rotateToken: {
      kind: 'token',
      before: async () => {
        const name = fresh('token');
        await server.admin.createToken({ name, role: 'viewer' });
        return name;
      },
      call: (name) => server.admin.rotateToken({ name }),
    },
    listSessions: 'reads',
    endSession: {
      kind: 'session',
      before: async () => {
        const { secret } = await server.admin.createToken({ name: fresh('token'), role: 'viewer' });
        await fetch(`${server.httpUrl}/auth/session`, {
          method: 'POST',
          headers: { authorization: `Bearer ${secret}` },
        });
        return (await server.admin.listSessions({})).sessions[0]?.sessionId ?? '';
      },
      call: (sessionId) => server.admin.endSession({ sessionId, reason: 'left' }),
    },
    listIdentities: 'reads',
    revokeIdentity: {
      kind: 'session',
      before: async () => `corp:${fresh('person')}`,
      call: (identity) => server.admin.revokeIdentity({ identity, reason: 'left' }),
    },
    restoreIdentity: {
      kind: 'session',
      before: async () => {
        const identity = `corp:${fresh('person')}`;
        await server.admin.revokeIdentity({ identity, reason: 'left' });
        return identity;
      },
      call: (identity) => server.admin.restoreIdentity({ identity, reason: 'came back' }),
    },
    exportAudit: 'reads',
    getAuditKey: 'reads',
    rotateAuditKey: {
      kind: 'audit',
      before: async () => (await server.admin.getAuditKey({})).keyId,
      call: (keyId) => server.admin.rotateAuditKey({ keyId }),
    },
  },
};

const node = async () => (await createNode(server)).id;

async function image(): Promise<string> {
  const name = fresh('image');
  await upload(name);
  return name;
}

async function upload(name: string): Promise<void> {
  const bytes = Buffer.alloc(1024, name);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const response = await fetch(`${server.httpUrl}/api/v1/images/${name}/content?sha256=${sha256}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/octet-stream' },
    body: bytes,
  });
  expect(response.status).toBe(201);
}

const stored = async () => {
  const name = fresh('workflow');
  await call(server, 'POST', '/workflows', { name, image: { name: 'any' } });
  return name;
};

/** Returns the cookie of a new session. */
async function signIn(): Promise<string> {
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const response = await fetch(`${server.httpUrl}/auth/session`, { method: 'POST', headers });
  expect(response.status).toBe(201);
  return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** By method and path; a GET that is not here only reads. */
const ROUTES: Readonly<Record<string, Row>> = {
  'POST /api/v1/nodes': { kind: 'install', call: () => createNode(server) },
  'PATCH /api/v1/nodes/:id': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'PATCH', `/nodes/${id}`, { notes: 'x' }),
  },
  'PATCH /api/v1/nodes/:id/state': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' }),
  },
  'POST /api/v1/nodes/:id/boot-url': {
    kind: 'install',
    before: async () => {
      const id = await node();
      await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' });
      return id;
    },
    call: (id) => call(server, 'POST', `/nodes/${id}/boot-url`),
  },
  'DELETE /api/v1/nodes/:id': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'DELETE', `/nodes/${id}`),
  },
  'POST /api/v1/nodes/:id/tags': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'POST', `/nodes/${id}/tags`, { tag: 'x' }),
  },
  'DELETE /api/v1/nodes/:id/tags/:tag': {
    kind: 'node',
    before: async () => (await createNode(server, { tags: ['x'] })).id,
    call: (id) => call(server, 'DELETE', `/nodes/${id}/tags/x`),
  },
  'POST /api/v1/nodes/bulk/state': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/state', { node_ids: [id], state: 'pending' }),
  },
  'POST /api/v1/nodes/bulk/approve': {
    kind: 'install',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/approve', { node_ids: [id] }),
  },
  'POST /api/v1/nodes/bulk/tags': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/tags', { node_ids: [id], add: ['x'] }),
  },
  'POST /api/v1/nodes/bulk/workflow': {
    kind: 'node',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/workflow', { node_ids: [id], workflow: 'install' }),
  },
  'POST /api/v1/nodes/bulk/group': {
    kind: 'machine',
    before: node,
    call: (id) => call(server, 'POST', '/nodes/bulk/group', { node_ids: [id], group: 'g' }),
  },
  'PUT /api/v1/images/:name/content': { kind: 'image', call: () => upload(fresh('image')) },
  'GET /api/v1/images/:name/content': {
    kind: 'image',
    before: image,
    call: (name) => call(server, 'GET', `/images/${name}/content`),
  },
  'DELETE /api/v1/images/:name': {
    kind: 'image',
    before: image,
    call: (name) => call(server, 'DELETE', `/images/${name}`),
  },
  'POST /api/v1/workflows': { kind: 'workflow', call: stored },
  'DELETE /api/v1/workflows/:name': {
    kind: 'workflow',
    before: stored,
    call: (name) => call(server, 'DELETE', `/workflows/${name}`),
  },
  'GET /api/v1/boot': {
    kind: 'node',
    before: async () => {
      const { id, mac } = await createNode(server);
      await call(server, 'PATCH', `/nodes/${id}/state`, { state: 'pending' });
      return mac;
    },
    call: (mac) => boot(server, mac),
  },
  'POST /api/v1/report': {
    kind: 'install',
    call: () => call(server, 'POST', '/report', { mac_address: newMac() }, null),
  },
  'POST /api/v1/machine/register': {
    kind: 'presence',
    origin: 'none',
    before: async () => {
      const { machine: made, token } = await server.admin.createMachine({ pool: 'pool' });
      return `${made?.machineId} ${token}`;
    },
    call: (given) => {
      const [machineId = '', token = ''] = given.split(' ');
      return post(server, 'register', token, registration({ machineId, token }, { pool_name: 'pool' }));
    },
  },
  'POST /api/v1/machine/token': {
    kind: 'token',
    origin: 'none',
    before: async () => {
      const { machine: made, token } = await server.admin.createMachine({ pool: 'pool' });
      const enrolled = { machineId: made?.machineId ?? '', token };
      await post(server, 'register', token, registration(enrolled, { pool_name: 'pool' }));
      return `${enrolled.machineId} ${token}`;
    },
    call: (given) => {
      const [machineId, token] = given.split(' ');
      return call(server, 'POST', '/machine/token', { machine_id: machineId }, token);
    },
  },
  'POST /auth/session': { kind: 'session', call: signIn },
  'DELETE /auth/session': {
    kind: 'session',
    before: signIn,
    call: (cookie) => {
      const headers = { cookie, 'sec-fetch-site': 'same-origin', origin: server.httpUrl };
      return fetch(`${server.httpUrl}/auth/session`, { method: 'DELETE', headers });
    },
  },
  'POST /api/v1/burn-in': {
    why: 'needs a machine that was booted for it; test/hardware/burn-in.test.ts reads the event of its end',
  },
  'POST /api/v1/machine/keepalive': {
    why: 'comes every minute from every machine; what changes presence is an event',
  },
};

async function eventsAfter(
  last: number,
): Promise<{ kind: string; request_id: string | null; address: string | null }[]> {
  return server.sql(`SELECT kind, request_id, address FROM events WHERE event_id > $1 AND kind <> 'access'`, [
    last,
  ]);
}

async function lastEvent(): Promise<number> {
  const [row] = await server.sql<{ last: string }>('SELECT max(event_id) AS last FROM events');
  return Number(row?.last ?? 0);
}

async function expectEvent(row: Changes): Promise<void> {
  const given = (await row.before?.()) ?? '';
  const last = await lastEvent();
  await row.call(given);
  const events = await eventsAfter(last);
  expect(events.map(({ kind }) => kind)).toContain(row.kind);
  if (row.origin === 'none') return;
  const ofCall = events.filter(({ kind, request_id }) => kind === row.kind && request_id !== null);
  expect(ofCall, 'the event names its call').not.toEqual([]);
  expect(ofCall[0]?.address).toBe('127.0.0.1');
}

const isChange = (row: Row): row is Changes => typeof row === 'object' && 'kind' in row;

describe('methods', () => {
  test('all have their row', () => {
    const known = Object.fromEntries(
      SERVICES.map((one) => [one.typeName, one.methods.map((m) => m.localName).toSorted()]),
    );
    const rows = Object.fromEntries(
      Object.entries(METHODS).map(([service, methods]) => [service, Object.keys(methods).toSorted()]),
    );
    expect(rows).toEqual(known);
  });

  const changes = Object.entries(METHODS).flatMap(([service, methods]) =>
    Object.entries(methods).flatMap(([method, row]) =>
      isChange(row) ? [[`${service}/${method}`, row] as const] : [],
    ),
  );
  test.each(changes)('%s leaves an event of its call', (_name, row) => expectEvent(row));
});

describe('routes', () => {
  const all = Object.values(REST_API).flatMap(({ routes }) =>
    Object.values(routes as Record<string, RestRoute>).map(({ method, path }) => `${method} ${path}`),
  );

  test('all that change something have their row', () => {
    const changing = all.filter((name) => !name.startsWith('GET '));
    expect(changing.filter((name) => ROUTES[name] === undefined)).toEqual([]);
    expect(Object.keys(ROUTES).filter((name) => !all.includes(name))).toEqual([]);
  });

  const changes = Object.entries(ROUTES).flatMap(([name, row]) =>
    isChange(row) ? [[name, row] as const] : [],
  );
  test.each(changes)('%s leaves an event of its call', (_name, row) => expectEvent(row));
});
