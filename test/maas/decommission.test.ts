// @module-tag extended: onboarding.test.ts has a workflow and decommission-approval.test.ts the start of this one; src/steps/stages its stages.
/** Machines out of service, against a simulated MAAS. */
import { createServer, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { DECOMMISSION_MODES, type DecommissionMode } from '../../src/domain/workflow/stage.ts';
import { DecommissionMode_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { refusal } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  act,
  decommission,
  ended,
  machineInService,
  newMachine,
  onboard,
  requestId,
  startMaasServer,
  statusOf,
} from './fleet.ts';
import { server, serviceHistory, setUpOnboardingSite, site, TIME_LIMIT } from './onboarding-site.ts';

setUpOnboardingSite();

describe.concurrent('decommission', () => {
  const modes = Object.keys(DECOMMISSION_MODES) as DecommissionMode[];
  const TITLE = '%s uses its stages and leaves the node where it should be';
  it.each(modes.filter(isSample))(TITLE, { timeout: TIME_LIMIT }, proveMode);
  it.each(modes.filter((mode) => !isSample(mode)))(
    TITLE,
    { tags: ['extended'], timeout: TIME_LIMIT },
    proveMode,
  );

  /** The one that ends with the machine gone, and the one that ends with it in service. */
  function isSample(mode: DecommissionMode): boolean {
    return mode === 'full_decommission' || mode === 'soft_reset';
  }

  async function proveMode(mode: DecommissionMode): Promise<void> {
    const { id, mac } = await machineInService(server);
    const started = await decommission(server, id, mode);
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
  }

  it(
    'the site carries out what it has a hook for, and the operation waits for it',
    async () => {
      const received: string[] = [];
      let answers = 0;
      const hooks: Server = createServer((request, response) => {
        let text = '';
        request.on('data', (chunk) => {
          text += chunk;
        });
        request.on('end', () => {
          const { stage } = JSON.parse(text) as { stage: string };
          received.push(`${stage} ${request.headers.authorization}`);
          answers += 1;
          response.statusCode = answers === 1 ? 503 : answers === 2 ? 202 : 200;
          response.end();
        });
      });
      await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
      const address = hooks.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      vi.stubEnv('INGOT_TEST_HOOK_TOKEN', 'hook-secret');
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
        expect(received).toEqual(Array(3).fill('scrub_gpu Bearer hook-secret'));
        expect(hooked.logged.join('')).not.toContain('hook-secret');
      } finally {
        await hooked.stop();
        hooks.close();
      }
    },
    TIME_LIMIT,
  );

  it(
    'drain retires, reactivation is not schedulable until keepalives prove it, removal is permanent',
    async () => {
      const { id } = await machineInService(server);
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
      const { id } = await machineInService(server);
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
        const operation = await ended(hooked, await decommission(hooked, id, 'soft_reset'));
        expect(operation).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code: 'HOOK_FAILED' },
        });
        await until(
          () => statusOf(hooked, id),
          ({ service }) => service === 'quarantined',
        );
        // Two rounds of the reconciler that brings nodes back.
        await sleep(2_500);
        expect(await statusOf(hooked, id)).toMatchObject({ service: 'quarantined', presence: 'ready' });
        status = 200;
        const { operationId } = operation;
        await act(hooked, operation, 'RETRY_STAGE');
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
