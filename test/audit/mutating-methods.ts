/** Each method of the API: one that only reads, one that is called and must leave an event, or one that says why not. */

import {
  AdminService,
  MachineFlag_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { BmcService } from '../../src/gen/baremetal/fleet/v1/bmc_service_pb.ts';
import { ConsoleService } from '../../src/gen/baremetal/fleet/v1/console_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { ViewService } from '../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { MachineService as MachineServiceV1 } from '../../src/gen/baremetal/v1/machine_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { RunService } from '../../src/gen/baremetal/v1/run_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { fresh, newMachine, run } from '../api/fleet.ts';
import { newMac } from '../nodes/rest.ts';
import { heldRollout } from '../security/tenants.ts';
import {
  bmc,
  consoles,
  endedRollout,
  hardware,
  held,
  inService,
  machine,
  maintainedNode,
  newProfile,
  newView,
  onRollout,
  openedConsole,
  type Row,
  requestId,
  rollouts,
  runs,
  server,
  slow,
  views,
  waitingForApproval,
  writingConsole,
} from './mutation-site.ts';

export const METHODS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
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
