/** Failures of the engine and of the server, on simulated machines. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { HardwareService } from '../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { NEW_FAKE_STATE } from '../../src/providers/fake/fake-state.ts';
import { fresh, newMachine, releaseOperation, waitingAt } from '../api/fleet.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import {
  act,
  changedAfterFailure,
  changedWhileHeld,
  ended,
  runOf,
  type Scenarios,
  setLabels,
  step,
} from './scenario.ts';

export interface ServerSite {
  readonly server: TestServer;
  /** What the site's hook answers. */
  hookStatus: number;
  stop(): Promise<void>;
}

export async function openServerSite(): Promise<ServerSite> {
  const hooks: Server = createServer((_request, response) => response.writeHead(site.hookStatus).end());
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(hooks.address() as AddressInfo).port}/`;
  const server = await startTestServer({ hooks: { force_release_allocations: { url } } });
  const site: ServerSite = {
    server,
    hookStatus: 200,
    stop: async () => {
      await server.stop();
      hooks.close();
    },
  };
  return site;
}

const REBOOT = step({ case: 'reboot', value: { mode: 'bmc' } });

async function rebootOf(server: TestServer, labels: Readonly<Record<string, string>>, only = REBOOT) {
  const machineId = await newMachine(server, { phase: 'READY', labels });
  return { machineId, operationId: await runOf(server, machineId, only) };
}

function setFakeState(server: TestServer, machineId: string, state: unknown) {
  return server.sql(
    `INSERT INTO fake_machines (machine_id, state) VALUES ($1, $2)
     ON CONFLICT (machine_id) DO UPDATE SET state = EXCLUDED.state`,
    [machineId, JSON.stringify(state)],
  );
}

/** As a newer version wrote it, with content that this one does not know. */
async function writtenByAnother({ server }: ServerSite, field: 'kind' | 'config', value: unknown) {
  const started = await rebootOf(server, { 'fake/step-ms': '5000' });
  const write = (written: unknown) =>
    server.sql('UPDATE operations SET steps = jsonb_set(steps, $2, $3) WHERE operation_id = $1', [
      started.operationId,
      ['0', field],
      JSON.stringify(written),
    ]);
  const [before] = await server.sql<{ value: unknown }>(
    'SELECT steps -> 0 -> $2 AS value FROM operations WHERE operation_id = $1',
    [started.operationId, field],
  );
  await changedWhileHeld(server, started.operationId, () => write(value));
  return { ...started, fix: () => write(before?.value) };
}

/** A failed operation of a machine whose provider has become another. */
async function withProvider({ server }: ServerSite, name: string) {
  const started = await rebootOf(server, { 'fake/fail-step': 'reboot:1' });
  const provider = (to: string) =>
    server.sql(`UPDATE machines SET spec = jsonb_set(spec, '{provider}', $2) WHERE machine_id = $1`, [
      started.machineId,
      JSON.stringify(to),
    ]);
  await changedAfterFailure(server, started.operationId, () => provider(name));
  return { ...started, fix: () => provider('fake') };
}

async function inService(server: TestServer): Promise<string> {
  const machineId = await newMachine(server);
  await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [machineId]);
  return machineId;
}

export const SERVER_SCENARIOS = {
  async BURN_IN_FAILED({ server }) {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'burn-in' },
    });
    const test = step({ case: 'burnIn', value: { tests: ['cpu'], seconds: 10 } }, 600);
    const operationId = await runOf(server, machineId, test);
    return { machineId, operationId, fix: () => setLabels(server, machineId, { 'fake/fail-step': 'none' }) };
  },

  async INSPECTION_FAILED({ server }) {
    const machineId = await newMachine(server, {
      phase: 'MAINTENANCE',
      labels: { 'fake/fail-step': 'burn-in' },
    });
    const inspect = step({ case: 'inspect', value: { inBand: true } }, 600);
    const operationId = await runOf(server, machineId, inspect);
    return { machineId, operationId, fix: () => setLabels(server, machineId, { 'fake/fail-step': 'none' }) };
  },

  async EXECUTION_FAILED({ server }) {
    const started = await rebootOf(server, { 'fake/fail-step': 'reboot' });
    return { ...started, fix: () => setLabels(server, started.machineId, { 'fake/fail-step': 'none' }) };
  },

  async TIMED_OUT({ server }) {
    const reboot = step({ case: 'reboot', value: { mode: 'bmc' } }, 2);
    const started = await rebootOf(server, { 'fake/hang-step': 'reboot' }, reboot);
    return { ...started, fix: () => setLabels(server, started.machineId, { 'fake/hang-step': 'none' }) };
  },

  async INTERNAL({ server }) {
    const machineId = await newMachine(server, { phase: 'READY' });
    await setFakeState(server, machineId, { ...NEW_FAKE_STATE, fence: null });
    const operationId = await runOf(server, machineId, REBOOT);
    return { machineId, operationId, fix: () => setFakeState(server, machineId, NEW_FAKE_STATE) };
  },

  async HOLDER_DIED_REPEATEDLY({ server }) {
    const started = await rebootOf(server, { 'fake/hang-step': 'reboot' });
    await waitingAt(server, started, 'work');
    // As ten dead holders leave it behind.
    await server.sql('UPDATE operations SET deaths = 10 WHERE operation_id = $1', [started.operationId]);
    await releaseOperation(server, started.operationId);
    const rebooted = { ...NEW_FAKE_STATE, bootCount: 2 };
    return { ...started, fix: () => setFakeState(server, started.machineId, rebooted) };
  },

  async DID_NOT_STOP({ server }) {
    const machineId = await newMachine(server, { phase: 'READY' });
    await setFakeState(server, machineId, NEW_FAKE_STATE);
    const locked = new pg.Client({ connectionString: server.database.url });
    await locked.connect();
    await locked.query('BEGIN');
    await locked.query('SELECT 1 FROM fake_machines WHERE machine_id = $1 FOR UPDATE', [machineId]);
    const netboot = step({ case: 'netboot', value: { mode: 'PXE' } }, 3);
    const operationId = await runOf(server, machineId, netboot);
    const fix = async () => {
      await locked.end();
      await setFakeState(server, machineId, { ...NEW_FAKE_STATE, bootDevice: 'pxe' });
    };
    return { machineId, operationId, fix };
  },

  async EFFECT_UNKNOWN({ server }) {
    const command = step({ case: 'ssh', value: { command: 'once' } }, 3);
    const started = await rebootOf(server, { 'fake/hang-step': 'exec' }, command);
    return { ...started, fix: async () => {} };
  },

  async NOTHING_TO_ADOPT({ server }) {
    const repave = step({ case: 'repave', value: {} });
    const started = await rebootOf(server, { 'fake/fail-step': 'repave' }, repave);
    await ended(server, started.operationId);
    await act(server, started.operationId, 'adopt_observed_state');
    return { ...started, fix: () => setLabels(server, started.machineId, { 'fake/fail-step': 'none' }) };
  },

  async HELD({ server }) {
    const started = await rebootOf(server, { 'fake/step-ms': '500' });
    await act(server, started.operationId, 'mark_manual_intervention_required');
    return { ...started, fix: async () => {} };
  },

  UNKNOWN_PROVIDER: (site) => withProvider(site, 'no-longer-there'),
  CAPABILITY_MISSING: (site) => withProvider(site, 'generic'),

  UNKNOWN_STEP_KIND: (site) => writtenByAnother(site, 'kind', 'levitate'),

  INVALID_STEP_CONFIG: (site) => writtenByAnother(site, 'config', { mode: 'by-prayer' }),

  async HOOK_FAILED(site) {
    const { server } = site;
    site.hookStatus = 400;
    const machineId = await inService(server);
    const { operationId } = await server.admin.drainMachine({ machineId, requestId: fresh('drain') });
    await ended(server, operationId);
    const fix = async () => {
      site.hookStatus = 200;
    };
    return { machineId, operationId, fix };
  },

  async HARDWARE_MISMATCH({ server }) {
    const machineId = await newMachine(server, { phase: 'READY' });
    const operationId = await runOf(server, machineId, step({ case: 'verifyHardware', value: {} }));
    const hardware = server.client(HardwareService, server.adminToken);
    const fix = async () => {
      const { operationId: inspection } = await hardware.inspectMachine({ machineId, requestId: fresh('r') });
      await ended(server, inspection);
      const match = `machine_id=${machineId}`;
      const profile = { name: fresh('profile'), match, expect: ['hardware.memory_gib>=128'] };
      await hardware.setHardwareProfile({ profile });
    };
    return { machineId, operationId, fix };
  },

  async NOT_RETIRED({ server }) {
    const machineId = await inService(server);
    const service = (to: string) =>
      server.sql('UPDATE machines SET service = $2 WHERE machine_id = $1', [machineId, to]);
    await service('retired');
    const { operationId } = await server.admin.removeMachine({ machineId, requestId: fresh('remove') });
    await changedWhileHeld(server, operationId, () => service('active'), 'rerun');
    return { machineId, operationId, fix: () => service('retired') };
  },
} as const satisfies Scenarios<ServerSite>;
