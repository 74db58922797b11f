/**
 * A request for every method and route, that names what a tenant has. A method that is not here fails the matrix: add it, with what
 * a caller of another scope must be answered.
 */
import { heldRollout, type Tenant } from './tenants.ts';

/** `not-found`: like what does not exist. `clean`: answered, without a word of the tenant. `refused`: it is out of scope. */
export type Outside = 'not-found' | 'clean' | 'refused';

export interface MatrixCall {
  readonly outside: Outside;
  /** `caller` is the tenant of the caller: what the request itself needs. */
  readonly request: (tenant: Tenant, caller: Tenant) => object;
}

let count = 0;
const requestId = () => `matrix-${++count}`;
const named = (request: MatrixCall['request']): MatrixCall => ({ outside: 'not-found', request });
const listed = (request: MatrixCall['request'] = () => ({})): MatrixCall => ({ outside: 'clean', request });
const fleetWide = (request: MatrixCall['request'] = () => ({})): MatrixCall => ({
  outside: 'refused',
  request,
});

const machine = named(({ machineId }) => ({ machineId, requestId: requestId(), reason: 'matrix', flag: 1 }));
const operation = named(({ operationId }) => ({ operationId, reason: 'matrix', action: 1 }));
const run = named(({ operationId }) => ({ runId: operationId.replace(/^op-/, 'run-'), reason: 'matrix' }));
const register: MatrixCall = {
  outside: 'refused',
  request: ({ name }) => ({ machine: { machineId: `${name}-${requestId()}`, spec: { customerId: name } } }),
};
const rollout = named(({ rolloutId }) => ({ rolloutId, requestId: requestId(), reason: 'matrix' }));
const update = named(({ machineId }) => ({ machine: { machineId, labels: { matrix: 'yes' } } }));

/** A session is its opener's alone, so no caller has one here: its own request lacks it, which is refused past authorization. */
const consoleSession = named((tenant, caller) => ({
  sessionId: tenant === caller ? '' : tenant.consoleSessionId,
}));

const V1 = 'baremetal.v1.';
const V2 = 'baremetal.v2.';
const ADMIN = 'baremetal.admin.v1.AdminService/';
const FLEET = 'baremetal.fleet.v1.FleetService/';
const BMC = 'baremetal.fleet.v1.BmcService/';
const HARDWARE = 'baremetal.fleet.v1.HardwareService/';
const CONSOLES = 'baremetal.fleet.v1.ConsoleService/';
const VIEWS = 'baremetal.fleet.v1.ViewService/';
const ROLLOUTS = 'baremetal.fleet.v1.RolloutService/';

export const CALLS: Readonly<Record<string, MatrixCall>> = {
  [`${V1}MachineService/RegisterMachine`]: register,
  [`${V1}MachineService/GetMachine`]: machine,
  [`${V1}MachineService/ListMachines`]: listed(),
  [`${V1}MachineService/UpdateMachine`]: update,
  [`${V1}PlanService/GetPlan`]: named(({ name }) => ({ planId: `${name}-plan` })),
  [`${V1}PlanService/ListPlans`]: listed(),
  [`${V1}RunService/StartRun`]: named(({ machineId }) => ({
    machineId,
    requestId: requestId(),
    type: 'REBOOT',
  })),
  [`${V1}RunService/GetRun`]: run,
  [`${V1}RunService/ListRuns`]: listed(),
  [`${V1}RunService/CancelRun`]: run,
  [`${V1}RunService/WatchRuns`]: listed(() => ({ sendSynced: true })),
  [`${V1}RunService/StreamRunLogs`]: run,
  [`${V2}MachineService/RegisterMachine`]: register,
  [`${V2}MachineService/GetMachine`]: machine,
  [`${V2}MachineService/ListMachines`]: listed(),
  [`${V2}MachineService/UpdateMachine`]: update,
  [`${V2}MachineService/RebootMachine`]: machine,
  [`${V2}MachineService/ReimageMachine`]: machine,
  [`${V2}MachineService/EnterMaintenance`]: machine,
  [`${V2}MachineService/ExitMaintenance`]: machine,
  [`${V2}MachineService/CancelOperation`]: operation,
  [`${V2}OperationService/GetOperation`]: operation,
  [`${V2}OperationService/ListOperations`]: listed(),
  [`${V2}OperationService/WatchOperations`]: listed(() => ({ sendSynced: true })),
  [`${V2}OperationService/StreamOperationLogs`]: operation,
  [`${ADMIN}FlagMachine`]: machine,
  [`${ADMIN}UnflagMachine`]: machine,
  [`${ADMIN}ClearNeedsIntervention`]: machine,
  [`${ADMIN}CreateMachine`]: named(({ machineId }, { pool }) => ({ machineId, pool })),
  [`${ROLLOUTS}PreviewRollout`]: listed(({ machineId }) => ({ spec: heldRollout(machineId) })),
  [`${ROLLOUTS}CreateRollout`]: listed(({ machineId }) => ({
    spec: heldRollout(machineId),
    requestId: requestId(),
  })),
  [`${ROLLOUTS}GetRollout`]: rollout,
  [`${ROLLOUTS}ListRollouts`]: listed(),
  [`${ROLLOUTS}WatchRollout`]: rollout,
  [`${ROLLOUTS}ListRolloutMachines`]: rollout,
  [`${ROLLOUTS}PauseRollout`]: rollout,
  [`${ROLLOUTS}ResumeRollout`]: rollout,
  [`${ROLLOUTS}AbortRollout`]: rollout,
  [`${ROLLOUTS}ApproveWave`]: rollout,
  [`${ROLLOUTS}RejectWave`]: rollout,
  [`${ROLLOUTS}RetryFailed`]: rollout,
  [`${ROLLOUTS}SkipMachines`]: named(({ rolloutId, machineId }) => ({
    rolloutId,
    requestId: requestId(),
    machineIds: [machineId],
  })),
  [`${ROLLOUTS}UpdateLimits`]: named(({ rolloutId }) => ({
    rolloutId,
    requestId: requestId(),
    maxParallel: '1',
  })),
  [`${ROLLOUTS}RollBack`]: rollout,
  [`${ROLLOUTS}CreateBudget`]: {
    outside: 'refused',
    request: ({ name }) => ({ budget: { name: `${name}-budget`, maxUnavailable: '1' } }),
  },
  [`${ROLLOUTS}ListBudgets`]: listed(),
  [`${ROLLOUTS}DeleteBudget`]: named(({ name }) => ({ name: `${name}-budget` })),
  [`${VIEWS}ListViews`]: listed(),
  [`${VIEWS}SaveView`]: listed(() => ({ page: 'machines', name: 'matrix', query: '' })),
  // A view belongs to its owner or to a scope, and no request can name another's (test/api/saved-views.test.ts).
  [`${VIEWS}DeleteView`]: listed(() => ({ page: 'machines', name: '' })),
  [`${VIEWS}ShareView`]: listed(() => ({ page: 'machines', name: 'matrix', query: '' })),
  [`${VIEWS}UnshareView`]: listed(() => ({ page: 'machines', name: '' })),
  [`${CONSOLES}GetConsole`]: machine,
  [`${CONSOLES}OpenConsole`]: machine,
  [`${CONSOLES}GetConsoleLog`]: machine,
  [`${CONSOLES}ReadConsole`]: consoleSession,
  [`${CONSOLES}TakeConsole`]: consoleSession,
  [`${CONSOLES}ReleaseConsole`]: consoleSession,
  [`${CONSOLES}WriteConsole`]: named((tenant, caller) => ({
    sessionId: tenant === caller ? '' : tenant.consoleSessionId,
    data: Buffer.from('x'),
  })),
  [`${CONSOLES}CloseConsole`]: consoleSession,
  [`${HARDWARE}GetHardware`]: machine,
  [`${HARDWARE}ListHardwareChanges`]: machine,
  [`${HARDWARE}DiffHardware`]: machine,
  [`${HARDWARE}ListSensors`]: machine,
  [`${HARDWARE}GetSensorHistory`]: machine,
  [`${HARDWARE}ListHardwareLog`]: machine,
  [`${HARDWARE}GetLemonScore`]: machine,
  [`${HARDWARE}ListLemons`]: listed(),
  [`${HARDWARE}GetEraseCertificate`]: machine,
  [`${HARDWARE}GetBurnIn`]: machine,
  [`${HARDWARE}InspectMachine`]: machine,
  [`${BMC}GetPower`]: machine,
  [`${BMC}ChangePower`]: named(({ machineId }) => ({ machineId, requestId: requestId(), action: 'on' })),
  [`${BMC}SetPowerCap`]: machine,
  [`${BMC}LocateMachine`]: machine,
  [`${BMC}GetBootOverride`]: machine,
  [`${BMC}SetBootOverride`]: named(({ machineId }) => ({
    machineId,
    requestId: requestId(),
    source: 'none',
  })),
  [`${BMC}ClearBmcLog`]: machine,
  [`${BMC}ResetBmc`]: machine,
  [`${BMC}RotateBmcPassword`]: machine,
  [`${BMC}GetBmcCertificate`]: machine,
  [`${BMC}TrustBmcCertificate`]: named(({ machineId }) => ({ machineId, sha256: 'fa'.repeat(32) })),
  [`${HARDWARE}SetHardwareProfile`]: {
    outside: 'refused',
    request: ({ name }) => ({
      profile: { name: `${name}-hardware`, match: 'labels.none=x', expect: ['hardware.gpu.count=8'] },
    }),
  },
  [`${HARDWARE}ListHardwareProfiles`]: listed(),
  [`${HARDWARE}DeleteHardwareProfile`]: named(({ name }) => ({ name: `${name}-hardware` })),
  [`${ADMIN}CreatePool`]: { outside: 'refused', request: ({ pool }) => ({ name: pool }) },
  [`${ADMIN}ListPools`]: listed(),
  [`${ADMIN}GetPool`]: named(({ pool }) => ({ name: pool })),
  [`${ADMIN}OnboardMachine`]: named(({ machineId }, { pool }) => ({
    machineId,
    requestId: requestId(),
    pool,
  })),
  [`${ADMIN}DecommissionMachine`]: named(({ machineId }) => ({ machineId, requestId: requestId(), mode: 1 })),
  [`${ADMIN}DrainMachine`]: machine,
  [`${ADMIN}RemoveMachine`]: machine,
  [`${ADMIN}EraseMachine`]: machine,
  [`${ADMIN}MigrateMachine`]: named(({ machineId }) => ({
    machineId,
    requestId: requestId(),
    macAddresses: ['52:54:00:00:00:99'],
    serialNumber: 'matrix',
  })),
  [`${ADMIN}SetServiceState`]: named(({ machineId }) => ({ machineId, service: 'active', reason: 'matrix' })),
  [`${ADMIN}ActOnOperation`]: operation,
  [`${ADMIN}ApproveOperation`]: operation,
  [`${ADMIN}RejectOperation`]: operation,
  [`${ADMIN}ListOperatorActions`]: operation,
  [`${ADMIN}ExplainMachine`]: machine,
  [`${ADMIN}CreatePlan`]: {
    outside: 'refused',
    request: ({ name }) => ({
      plan: {
        planId: `${name}-plan`,
        displayName: requestId(),
        steps: [{ name: 'boot', kind: { case: 'reboot', value: {} } }],
      },
    }),
  },
  [`${ADMIN}CreateToken`]: {
    outside: 'refused',
    request: ({ name }) => ({ name: `${name}-viewer`, role: 'viewer' }),
  },
  [`${ADMIN}ListTokens`]: listed(),
  [`${ADMIN}ListSessions`]: listed(),
  [`${ADMIN}EndSession`]: named(({ name }) => ({ sessionId: `${name}-turned-session`, reason: 'matrix' })),
  [`${ADMIN}ListIdentities`]: listed(),
  [`${ADMIN}RevokeIdentity`]: fleetWide(() => ({ identity: 'corp:matrix', reason: 'matrix' })),
  [`${ADMIN}RestoreIdentity`]: fleetWide(() => ({ identity: 'corp:matrix' })),
  [`${ADMIN}RevokeToken`]: named(({ name }) => ({ name: `${name}-spare` })),
  [`${ADMIN}RotateToken`]: named(({ name }) => ({ name: `${name}-turned` })),
  [`${ADMIN}ExportAudit`]: fleetWide(),
  [`${ADMIN}GetAuditKey`]: fleetWide(),
  [`${ADMIN}RotateAuditKey`]: fleetWide(),
  [`${FLEET}WhoAmI`]: listed(),
  [`${FLEET}GetOverview`]: listed(),
  [`${FLEET}GetFleetHistory`]: listed(),
  [`${FLEET}ListProviders`]: listed(),
  [`${FLEET}CountMachines`]: listed(() => ({ facets: ['customer_id', 'pool', 'labels.secret'] })),
  [`${FLEET}IndexMachines`]: listed(),
  [`${FLEET}GetMachines`]: listed(({ machineId }) => ({ machineIds: [machineId] })),
  [`${FLEET}WatchEvents`]: listed(),
  [`${FLEET}ListEvents`]: listed(() => ({ pageSize: 1000 })),
  [`${FLEET}GetMetricHistory`]: named(({ machineId }) => ({ machineId })),
};

export interface MatrixRoute {
  readonly outside: Outside;
  /** The path with what the tenant has in place of its parameters. */
  readonly path: (tenant: Tenant) => string;
  readonly body?: (tenant: Tenant) => unknown;
}

const NODES = '/api/v1/nodes';
const node = (rest: string, body?: MatrixRoute['body']): MatrixRoute => ({
  outside: 'not-found',
  path: ({ machineId }) => `${NODES}/${machineId}${rest}`,
  ...(body && { body }),
});
const list = (path: string): MatrixRoute => ({ outside: 'clean', path: () => path });
const bulk = (what: string, change: object): MatrixRoute => ({
  outside: 'clean',
  path: () => `${NODES}/bulk/${what}`,
  body: ({ machineId }) => ({ node_ids: [machineId], ...change }),
});

/** The routes that operators call. */
export const ROUTES: Readonly<Record<string, MatrixRoute>> = {
  'POST /auth/session': list('/auth/session'),
  'GET /api/v1/machine/config': list('/api/v1/machine/config'),
  'GET /api/v1/machine/list': list('/api/v1/machine/list'),
  'GET /api/v1/pool/list': list('/api/v1/pool/list'),
  'GET /api/v1/pool/show/:name': { outside: 'not-found', path: ({ pool }) => `/api/v1/pool/show/${pool}` },
  'GET /api/v1/nodes/:id/boots': node('/boots'),
  'POST /api/v1/nodes/:id/boot-url': node('/boot-url'),
  'GET /api/v1/boots': list('/api/v1/boots'),
  'GET /api/v1/images': list('/api/v1/images'),
  'GET /api/v1/images/:name': { outside: 'not-found', path: ({ name }) => `/api/v1/images/${name}-image` },
  'GET /api/v1/images/:name/upload': {
    outside: 'refused',
    path: ({ name }) => `/api/v1/images/${name}-image/upload?sha256=${'0'.repeat(64)}`,
  },
  'PUT /api/v1/images/:name/content': {
    outside: 'refused',
    path: ({ name }) => `/api/v1/images/${name}-image/content?sha256=${'0'.repeat(64)}`,
  },
  'DELETE /api/v1/images/:name': { outside: 'refused', path: ({ name }) => `/api/v1/images/${name}-image` },
  'GET /api/v1/images/:name/content': {
    outside: 'not-found',
    path: ({ name }) => `/api/v1/images/${name}-image/content`,
  },
  'GET /api/v1/workflows': list('/api/v1/workflows'),
  'GET /api/v1/workflows/:name': {
    outside: 'not-found',
    path: ({ name }) => `/api/v1/workflows/${name}-workflow`,
  },
  'POST /api/v1/workflows': {
    outside: 'refused',
    path: () => '/api/v1/workflows',
    body: ({ name }) => ({ name: `${name}-workflow` }),
  },
  'DELETE /api/v1/workflows/:name': {
    outside: 'not-found',
    path: ({ name }) => `/api/v1/workflows/${name}-workflow`,
  },
  'POST /api/v1/nodes': {
    outside: 'refused',
    path: () => NODES,
    body: ({ mac }) => ({ mac_address: mac }),
  },
  'GET /api/v1/nodes': list(`${NODES}?view=inventory`),
  'GET /api/v1/nodes/:id': node(''),
  'GET /api/v1/nodes/:id/inventory': node('/inventory'),
  'PATCH /api/v1/nodes/:id': node('', () => ({ notes: 'matrix' })),
  'PATCH /api/v1/nodes/:id/state': node('/state', () => ({ state: 'pending' })),
  'DELETE /api/v1/nodes/:id': node(''),
  'POST /api/v1/nodes/:id/tags': node('/tags', () => ({ tag: 'matrix' })),
  'DELETE /api/v1/nodes/:id/tags/:tag': node('/tags/matrix'),
  'GET /api/v1/nodes/:id/history': node('/history'),
  'GET /api/v1/nodes/stats': list(`${NODES}/stats`),
  'GET /api/v1/nodes/stalled': list(`${NODES}/stalled`),
  'POST /api/v1/nodes/bulk/state': bulk('state', { state: 'pending' }),
  'POST /api/v1/nodes/bulk/approve': bulk('approve', {}),
  'POST /api/v1/nodes/bulk/tags': bulk('tags', { add: ['matrix'] }),
  'POST /api/v1/nodes/bulk/workflow': bulk('workflow', { workflow: null }),
  'POST /api/v1/nodes/bulk/group': bulk('group', { group: null }),
};
