/** Document 3 from bare metal into service and out again, against a simulated MAAS. */

import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INTERVENTIONS, type InterventionCode } from '../../src/domain/condition/intervention.ts';
import { FAILURES } from '../../src/domain/error/failure-code.ts';
import { OPERATOR_ACTIONS } from '../../src/domain/operation/operator-action.ts';
import { DECOMMISSION_MODES, type DecommissionMode, ONBOARDING } from '../../src/domain/workflow/stage.ts';
import {
  DecommissionMode_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { EffectiveState_Value, MachineStatus_Phase } from '../../src/gen/baremetal/v2/machine_pb.ts';
import type { Operation } from '../../src/gen/baremetal/v2/operation_pb.ts';
import type { MachineFault } from '../parts/maas/faults.ts';
import { refusal, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  ended,
  type MaasSite,
  newMachine,
  onboard,
  openMaasSite,
  requestId,
  startMaasServer,
  statusOf,
} from './fleet.ts';

const TIME_LIMIT = 120_000;
let site: MaasSite;
let server: TestServer;

beforeAll(async () => {
  site = await openMaasSite();
  server = await startMaasServer(site);
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  await site?.stop();
});

/** Without its last digits: where the secret is a part of more, those differ. */
const encoded = (secret: string, as: 'hex' | 'base64') => {
  const whole = Buffer.from(secret).subarray(0, 3 * Math.floor(secret.length / 3));
  return whole.toString(as);
};

const act = (operationId: string, action: keyof typeof OperatorAction_Value, reason = 'looked at it') =>
  server.admin.actOnOperation({ operationId, action: OperatorAction_Value[action], reason });

async function inService() {
  const machine = await newMachine(server);
  const operation = await ended(server, await onboard(server, machine.id));
  expect(operation).toMatchObject({ status: 'completed' });
  return machine;
}

function decommission(machineId: string, mode: DecommissionMode): Promise<Operation> {
  const value = DecommissionMode_Value[mode.toUpperCase() as keyof typeof DecommissionMode_Value];
  return server.admin.decommissionMachine({ machineId, requestId: requestId(), mode: value });
}

async function serviceHistory(machineId: string): Promise<string[]> {
  const rows = await server.sql<{ line: string }>(
    `SELECT from_state || '>' || to_state AS line FROM events WHERE machine_id = $1 AND kind = 'service'
     ORDER BY event_id`,
    [machineId],
  );
  return rows.map(({ line }) => line);
}

// Each has a machine of its own, and faults are a machine's: they need not wait for each other.
describe.concurrent('onboarding', () => {
  it(
    'takes an unknown machine through sixteen stages into service, and its agent enrols by itself',
    async () => {
      const { id, mac } = await newMachine(server);
      const started = await onboard(server, id);
      expect(await statusOf(server, id)).toMatchObject({
        service: 'enrolling',
        activeOperationId: started.operationId,
      });
      const operation = await ended(server, started);
      expect(operation).toMatchObject({ status: 'completed', params: { pool: 'gpu' } });
      expect(operation.steps.map(({ name }) => name)).toEqual(ONBOARDING);
      const status = await statusOf(server, id);
      expect(status).toMatchObject({
        service: 'active',
        presence: 'ready',
        pool: 'gpu',
        observed: { source: 'site-a', state: 'Deployed', power: 'on' },
        // In service, and not "new, needs setup".
        phase: MachineStatus_Phase.READY,
        effectiveState: EffectiveState_Value.IDLE,
      });
      expect(await serviceHistory(id)).toEqual(['>enrolling', 'enrolling>active']);
      const [known] = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      expect(known?.status_name).toBe('Deployed');
    },
    TIME_LIMIT,
  );

  it.each(['New', 'Ready', 'Deployed'])(
    'adopts a machine that MAAS has as %s already',
    async (status) => {
      const { id, mac } = await newMachine(server);
      await site.simulator.admin.addMachine({
        mac_addresses: [mac],
        hostname: `found-${status.toLowerCase()}`,
        status,
      });
      const operation = await onboard(server, id);
      if (status === 'Deployed') {
        // Somebody else deployed it, without hardware sync and without an agent of ours: a human decides.
        const waiting = await until(
          () => server.operations.getOperation({ operationId: operation.operationId }),
          ({ currentStep, finishedAt }) =>
            finishedAt !== undefined ||
            currentStep === 'wait_for_agent_enrollment' ||
            currentStep.includes('hardware'),
          60_000,
        );
        expect(waiting.steps.find(({ name }) => name === 'deploy_via_maas')?.message).toContain('Deployed');
        expect(await ended(server, operation)).toMatchObject({ error: { code: 'HARDWARE_SYNC_OFF' } });
        return;
      }
      expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
      const all = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      expect(all).toHaveLength(1);
    },
    TIME_LIMIT,
  );

  it('needs a pool that exists, a provider with MAAS, and a machine that is in no service yet', async () => {
    const { id } = await newMachine(server);
    const call = (machineId: string, pool: string) =>
      refusal(server.admin.onboardMachine({ machineId, pool, requestId: requestId() }));
    expect(await call(id, '')).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await call(id, 'nowhere')).toMatchObject({ code: 'INVALID_ARGUMENT' });
    await server.machines.registerMachine({ machine: { machineId: 'fake-1', spec: { provider: 'fake' } } });
    expect(await call('fake-1', 'gpu')).toMatchObject({ reason: 'CAPABILITY_MISSING' });
  });

  it(
    'no secret is in any row, event, log or answer',
    async () => {
      const { id, mac } = await newMachine(server);
      const operation = await ended(server, await onboard(server, id));
      const [known] = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      const details = await site.simulator.admin.machine(known?.system_id ?? '');
      const token = /INGOT_MACHINE_TOKEN=([\w-]+)/.exec(details.user_data)?.[1] ?? '';
      expect(token).toMatch(/^ingot_/);
      expect(details.power_parameters.power_pass).toBe(site.bmcPassword);
      const tables = await server.sql<{ name: string }>(
        `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema()`,
      );
      const names = tables.map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(['agents', 'events', 'machines', 'operation_logs', 'operations']),
      );
      const stored = await server.sql<{ line: string }>(
        names.map((name) => `SELECT row_to_json(t)::text AS line FROM ${name} t`).join(' UNION ALL '),
      );
      const json = (value: unknown) =>
        JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
      const everything = [...stored.map(({ line }) => line), server.logged.join(''), json(operation)].join(
        '\n',
      );
      // The scan sees what is there: bytes too, as hexadecimal digits.
      const hash = createHash('sha256').update(token).digest('hex');
      expect([everything.includes(hash), everything.includes(id)]).toEqual([true, true]);
      const key = site.simulator.apiKey;
      const secrets = [token, token.replace('ingot_', ''), site.bmcPassword, key, ...key.split(':').slice(1)];
      const forms = [...secrets, details.user_data].flatMap((secret) => [
        secret,
        encoded(secret, 'hex'),
        encoded(secret, 'base64'),
      ]);
      expect(forms.filter((form) => everything.includes(form))).toEqual([]);
    },
    TIME_LIMIT,
  );
});

describe.concurrent('what needs a human (§7)', () => {
  const TRIGGERS: ReadonlyArray<readonly [MachineFault, string, InterventionCode]> = [
    ['conflicting_candidates', 'create_or_find_in_maas', 'CONFLICTING_CANDIDATES'],
    ['no_boss_disk', 'configure_storage', 'BOOT_DISK_NOT_FOUND'],
    ['pxe_stays_wrong', 'ensure_pxe_interface_auto', 'PXE_NOT_FIXABLE'],
    ['deleted_midway', '', 'MACHINE_GONE'],
    ['deployment_failure', 'classify_deploy_failure', 'DEPLOYMENT_FAILED'],
  ];

  it.each(TRIGGERS)(
    '%s stops at %s with %s, and says which action leads on',
    async (fault, stage, code) => {
      const { id, mac } = await newMachine(server);
      if (fault === 'conflicting_candidates') {
        await site.simulator.admin.addMachine({ mac_addresses: [mac], hostname: 'one' });
      }
      await site.simulator.admin.fault({ fault, mac, times: null });
      const operation = await ended(server, await onboard(server, id));
      expect(operation).toMatchObject({ status: 'failed_manual_intervention', error: { code } });
      if (stage !== '') expect(operation.error?.details.step).toBe(stage);
      const { leaves } = INTERVENTIONS[code];
      expect(await statusOf(server, id)).toMatchObject({ service: leaves, activeOperationId: '' });
      const explained = await server.admin.explainMachine({ machineId: id });
      expect(explained.inService).toBe(false);
      const { action, who } = FAILURES[code];
      expect(explained.obstacles[0]).toMatchObject({ action, who });
      const { verb } = OPERATOR_ACTIONS[action];
      expect(explained.obstacles[0]?.command).toContain(`op ${verb} ${operation.operationId}`);
    },
    TIME_LIMIT,
  );

  it(
    'a datasource that fails twice is recovered from; one that keeps failing is not',
    async () => {
      const lucky = await newMachine(server);
      await site.simulator.admin.fault({ fault: 'datasource_failure', mac: lucky.mac, times: 2 });
      expect(await ended(server, await onboard(server, lucky.id))).toMatchObject({ status: 'completed' });
      const unlucky = await newMachine(server);
      await site.simulator.admin.fault({ fault: 'datasource_failure', mac: unlucky.mac, times: null });
      expect(await ended(server, await onboard(server, unlucky.id))).toMatchObject({
        status: 'failed_manual_intervention',
        error: { code: 'DATASOURCE_FAILED', details: { step: 'recover_for_datasource_retry' } },
      });
    },
    TIME_LIMIT,
  );

  it.each([
    ['hardware_sync_failing', 'wait_for_hardware_sync_healthy', 'HARDWARE_SYNC_FAILED'],
    ['agent_never_enrols', 'wait_for_agent_enrollment', 'AGENT_NEVER_ENROLLED'],
  ] as const)(
    '%s is waited for as long as the site wants, and then a human must look',
    async (fault, step, code) => {
      const hasty = await openMaasSite({ waits: { hardware_sync_seconds: 3, agent_seconds: 3 } });
      const waiting = await startMaasServer(hasty);
      try {
        const { id, mac } = await newMachine(waiting);
        await hasty.simulator.admin.fault({ fault, mac, times: null });
        const failed = await ended(waiting, await onboard(waiting, id));
        expect(failed).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code, details: { step, failure_class: 'needs_human' } },
        });
        expect(await statusOf(waiting, id)).toMatchObject({ service: 'enrolling', activeOperationId: '' });
        // What is mended goes on: another attempt waits once more.
        await hasty.simulator.admin.clearFaults();
        if (fault === 'agent_never_enrols') return;
        const action = OperatorAction_Value.RESUME;
        await waiting.admin.actOnOperation({ operationId: failed.operationId, action, reason: 'mended' });
        expect(await ended(waiting, failed)).toMatchObject({ status: 'completed' });
      } finally {
        await waiting.stop();
        await hasty.stop();
      }
    },
    TIME_LIMIT,
  );
});

describe.concurrent('decommission', () => {
  it.each(Object.keys(DECOMMISSION_MODES) as DecommissionMode[])(
    '%s uses its stages and leaves the node where it should be',
    async (mode) => {
      const { id, mac } = await inService();
      const started = await decommission(id, mode);
      expect(await statusOf(server, id)).toMatchObject({
        service: 'draining',
        activeOperationId: started.operationId,
      });
      const operation = await ended(server, started);
      expect(operation).toMatchObject({ status: 'completed', params: { mode } });
      expect(operation.steps.map(({ name }) => name)).toEqual(DECOMMISSION_MODES[mode].stages);
      const known = (await site.simulator.admin.machines()).filter((machine) =>
        machine.mac_addresses.includes(mac),
      );
      if (mode === 'full_decommission') {
        expect(await statusOf(server, id)).toMatchObject({
          service: 'deleted',
          observed: { state: 'absent' },
        });
        expect(known).toEqual([]);
      } else if (mode === 'reimage') {
        expect(await statusOf(server, id)).toMatchObject({
          service: 'retired',
          observed: { state: 'Ready' },
        });
        expect(known[0]?.status_name).toBe('Ready');
        // What ran on it is gone, and does not count as alive.
        expect(await statusOf(server, id)).toMatchObject({ presence: 'expired' });
        expect((await server.admin.explainMachine({ machineId: id })).obstacles[0]?.command).toContain(
          'onboard',
        );
        // The same identity is used again: not schedulable before its agent has proved it.
        const again = await onboard(server, id);
        expect(await statusOf(server, id)).toMatchObject({ service: 'offline' });
        expect((await ended(server, again)).status).toBe('completed');
        expect(await statusOf(server, id)).toMatchObject({ service: 'active', presence: 'ready' });
        expect((await serviceHistory(id)).slice(-3)).toEqual([
          'draining>retired',
          'retired>offline',
          'offline>active',
        ]);
      } else {
        // It stays deployed; its own keepalives bring it back.
        await until(
          () => statusOf(server, id),
          ({ service }) => service === 'active',
          30_000,
        );
        expect(known[0]?.status_name).toBe('Deployed');
      }
    },
    TIME_LIMIT,
  );

  it(
    'the site carries out what it has a hook for, and the operation waits for it',
    async () => {
      const heard: string[] = [];
      let answers = 0;
      const hooks: Server = createServer((request, response) => {
        let text = '';
        request.on('data', (chunk) => {
          text += chunk;
        });
        request.on('end', () => {
          const { stage } = JSON.parse(text) as { stage: string };
          heard.push(`${stage} ${request.headers.authorization}`);
          answers += 1;
          response.statusCode = answers === 1 ? 503 : answers === 2 ? 202 : 200;
          response.end();
        });
      });
      await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
      const address = hooks.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      process.env.INGOT_TEST_HOOK_TOKEN = 'hook-secret';
      const hooked = await startMaasServer(site, {
        hooks: { scrub_gpu: { url: `http://127.0.0.1:${port}/scrub`, token_env: 'INGOT_TEST_HOOK_TOKEN' } },
      });
      try {
        const machine = await newMachine(hooked);
        expect(await ended(hooked, await onboard(hooked, machine.id))).toMatchObject({ status: 'completed' });
        const operation = await hooked.admin.decommissionMachine({
          machineId: machine.id,
          requestId: requestId(),
          mode: DecommissionMode_Value.SOFT_RESET,
        });
        const done = await ended(hooked, operation);
        expect(done).toMatchObject({ status: 'completed' });
        expect(done.steps.find(({ name }) => name === 'scrub_gpu')?.message).toBe(
          'the site says that it is done',
        );
        expect(done.steps.find(({ name }) => name === 'cleanup_storage')?.message).toContain(
          'nothing was done',
        );
        expect(heard).toEqual(Array(3).fill('scrub_gpu Bearer hook-secret'));
        expect(hooked.logged.join('')).not.toContain('hook-secret');
      } finally {
        await hooked.stop();
        hooks.close();
      }
    },
    TIME_LIMIT,
  );

  it(
    'drain retires, reactivation is not schedulable until keepalives prove it, removal is for good',
    async () => {
      const { id } = await inService();
      const drained = await ended(
        server,
        await server.admin.drainMachine({ machineId: id, requestId: requestId() }),
      );
      expect(drained).toMatchObject({ status: 'completed' });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired' });
      await server.admin.setServiceState({ machineId: id, service: 'offline', reason: 'needed again' });
      await until(
        () => statusOf(server, id),
        ({ service }) => service === 'active',
        30_000,
      );
      expect((await serviceHistory(id)).slice(-2)).toEqual(['retired>offline', 'offline>active']);
      await ended(server, await server.admin.drainMachine({ machineId: id, requestId: requestId() }));
      const removed = await server.admin.removeMachine({ machineId: id, requestId: requestId() });
      expect(await ended(server, removed)).toMatchObject({ status: 'completed' });
      expect(await statusOf(server, id)).toMatchObject({ service: 'deleted' });
      expect((await serviceHistory(id)).slice(-3)).toEqual([
        'draining>retired',
        'retired>removing',
        'removing>deleted',
      ]);
      expect(await refusal(onboard(server, id))).toMatchObject({ reason: 'MACHINE_DELETED' });
      expect(await refusal(server.admin.createMachine({ machineId: id, pool: 'gpu' }))).toMatchObject({
        reason: 'MACHINE_DELETED',
      });
      expect(await refusal(server.machines.registerMachine({ machine: { machineId: id } }))).toMatchObject({
        reason: 'MACHINE_DELETED',
      });
      const { machines } = await server.machines.listMachines({ filter: `machine_id=${id}` });
      expect(machines).toEqual([]);
      expect(
        (await server.machines.listMachines({ filter: 'service=deleted' })).machines.length,
      ).toBeGreaterThan(0);
    },
    TIME_LIMIT,
  );

  it(
    'a state that an operation must own can’t be entered by hand, nor by the wrong owner',
    async () => {
      const { id } = await inService();
      for (const service of ['draining', 'removing', 'deleted', 'retired', 'enrolling', 'nonsense']) {
        const refused = await refusal(
          server.admin.setServiceState({ machineId: id, service, reason: 'by hand' }),
        );
        expect(refused).toMatchObject({ code: 'FAILED_PRECONDITION' });
      }
      const quarantined = await refusal(
        server.admin.setServiceState({ machineId: id, service: 'quarantined', reason: 'suspicious' }),
      );
      expect(quarantined.reason).toBe('WRONG_TRANSITION_OWNER');
      expect(await statusOf(server, id)).toMatchObject({ service: 'active' });
    },
    TIME_LIMIT,
  );
});

describe('a cleanup that fails', () => {
  it(
    'quarantines the node, whose keepalives do not bring it back; a retry takes it out of scheduling first',
    async () => {
      let status = 400;
      const hooks: Server = createServer((_request, response) => {
        response.statusCode = status;
        response.end();
      });
      await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
      const address = hooks.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const hooked = await startMaasServer(site, {
        hooks: { cleanup_storage: { url: `http://127.0.0.1:${port}/` } },
      });
      try {
        const { id } = await newMachine(hooked);
        await ended(hooked, await onboard(hooked, id));
        const mode = DecommissionMode_Value.SOFT_RESET;
        const call = { machineId: id, requestId: requestId(), mode };
        const operation = await ended(hooked, await hooked.admin.decommissionMachine(call));
        expect(operation).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code: 'HOOK_FAILED' },
        });
        await until(
          () => statusOf(hooked, id),
          ({ service }) => service === 'quarantined',
        );
        // Two rounds of whoever brings nodes back.
        await sleep(2_500);
        expect(await statusOf(hooked, id)).toMatchObject({ service: 'quarantined', presence: 'ready' });
        status = 200;
        const { operationId } = operation;
        const action = OperatorAction_Value.RETRY_STAGE;
        await hooked.admin.actOnOperation({ operationId, action, reason: 'the hook was mended' });
        expect(await statusOf(hooked, id)).toMatchObject({
          service: 'draining',
          activeOperationId: operationId,
        });
        expect(await ended(hooked, operation)).toMatchObject({ status: 'completed' });
        await until(
          () => statusOf(hooked, id),
          ({ service }) => service === 'active',
        );
      } finally {
        await hooked.stop();
        hooks.close();
      }
    },
    TIME_LIMIT,
  );
});

/** Alone: it takes every fault away. */
describe('after what is wrong was mended', () => {
  it(
    'an operator mends it and resumes: the operation goes on from where it was',
    async () => {
      const { id, mac } = await newMachine(server);
      await site.simulator.admin.fault({ fault: 'pxe_stays_wrong', mac, times: null });
      const operation = await ended(server, await onboard(server, id));
      expect(operation.error?.code).toBe('PXE_NOT_FIXABLE');
      await site.simulator.admin.clearFaults();
      await act(operation.operationId, 'RETRY_STAGE', 'the switch was mended');
      const again = await ended(server, operation);
      expect(again.error).toBeUndefined();
      expect(again).toMatchObject({ status: 'completed' });
      expect(await statusOf(server, id)).toMatchObject({ service: 'active' });
    },
    TIME_LIMIT,
  );
});
