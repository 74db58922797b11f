// @module-tag extended: decommission-approval.test.ts starts one, and src/steps/stages has its stages.
/** The table of decommission endings in docs/maas.md, row by row: the node's state during and after it. */
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';
import {
  act,
  decommission,
  ended,
  type MaasSite,
  machineInService,
  openMaasSite,
  requestId,
  startMaasServer,
  statusOf,
} from './fleet.ts';

const TIME_LIMIT = 120_000;

let site: MaasSite;
let server: TestServer;
let hooks: Server;
/** What the site's hooks answer for each stage and machine; 200 without. */
const answers = new Map<string, number>();

beforeAll(async () => {
  site = await openMaasSite();
  hooks = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const { stage, machine_id: id } = JSON.parse(text) as { stage: string; machine_id: string };
      response.statusCode = answers.get(`${stage} ${id}`) ?? 200;
      response.end();
    });
  });
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
  const address = hooks.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const hook = { url: `http://127.0.0.1:${port}/` };
  server = await startMaasServer(site, { hooks: { cleanup_storage: hook, drain_node: hook } });
}, TIME_LIMIT);
afterAll(async () => {
  await server?.stop();
  hooks?.close();
  await site?.stop();
});

/** Every service state from the first decommission on. */
async function moves(machineId: string): Promise<string[]> {
  const rows = await server.sql<{ to_state: string }>(
    `SELECT to_state FROM events WHERE machine_id = $1 AND kind = 'service' ORDER BY event_id`,
    [machineId],
  );
  const states = rows.map(({ to_state: state }) => state);
  return states.slice(states.indexOf('draining'));
}

describe.concurrent('a decommission, or a drain,', () => {
  it(
    'that runs takes its node from draining to retired, and is removing while it uninstalls; then deleted',
    async () => {
      const { id, mac } = await machineInService(server);
      // The record in MAAS is removed late enough for the test to see it.
      await site.simulator.admin.fault({ fault: 'slow', method: 'DELETE', mac, ms: 1_500, times: 1 });
      const { operationId } = await decommission(server, id, 'full_decommission');
      expect(await statusOf(server, id)).toMatchObject({ service: 'draining' });
      const removing = await until(
        async () => ({
          operation: await server.operations.getOperation({ operationId }),
          status: await statusOf(server, id),
        }),
        ({ operation }) =>
          operation.currentStep === 'remove_maas_record' || operation.finishedAt !== undefined,
        60_000,
      );
      expect(removing).toMatchObject({ operation: { status: 'running' }, status: { service: 'removing' } });
      expect(await ended(server, { operationId })).toMatchObject({ status: 'completed' });
      expect(await moves(id)).toEqual(['draining', 'retired', 'removing', 'deleted']);
    },
    TIME_LIMIT,
  );

  it(
    'whose erasing fails is failed_retryable, and its node retired; a retry goes on from there',
    async () => {
      const { id, mac } = await machineInService(server);
      await site.simulator.admin.fault({ fault: 'erase_failure', mac, times: null });
      const failed = await ended(server, await decommission(server, id, 'full_decommission'));
      expect(failed).toMatchObject({ status: 'failed_retryable', error: { code: 'RELEASE_FAILED' } });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired', activeOperationId: '' });
      expect(await moves(id)).toEqual(['draining', 'retired']);
      await site.simulator.admin.clearFaults(mac);
      await act(server, failed, 'RETRY_STAGE');
      expect(await ended(server, failed)).toMatchObject({ status: 'completed' });
      expect(await moves(id)).toEqual(['draining', 'retired', 'removing', 'deleted']);
    },
    TIME_LIMIT,
  );

  it(
    'whose uninstall fails has its node retired, and removing again when it goes on',
    async () => {
      const { id, mac } = await machineInService(server);
      await site.simulator.admin.fault({ fault: 'forbidden', method: 'DELETE', mac, times: null });
      const failed = await ended(server, await decommission(server, id, 'full_decommission'));
      expect(failed).toMatchObject({
        status: 'failed_manual_intervention',
        error: { details: { step: 'remove_maas_record' } },
      });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired' });
      await site.simulator.admin.clearFaults(mac);
      await act(server, failed, 'RETRY_STAGE');
      expect(await statusOf(server, id)).toMatchObject({ service: 'removing' });
      expect(await ended(server, failed)).toMatchObject({ status: 'completed' });
      expect(await moves(id)).toEqual(['draining', 'retired', 'removing', 'retired', 'removing', 'deleted']);
    },
    TIME_LIMIT,
  );

  it(
    'whose cleanup may pass leaves it retired, and brings it back into service when it has been tried again',
    async () => {
      const { id } = await machineInService(server);
      answers.set(`cleanup_storage ${id}`, 500);
      const failed = await ended(server, await decommission(server, id, 'soft_reset'));
      expect(failed).toMatchObject({
        status: 'failed_retryable',
        error: { details: { step: 'cleanup_storage' } },
      });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired' });
      answers.delete(`cleanup_storage ${id}`);
      await act(server, failed, 'RETRY_STAGE');
      expect(await ended(server, failed)).toMatchObject({ status: 'completed' });
      await until(
        () => statusOf(server, id),
        ({ service }) => service === 'active',
        30_000,
      );
    },
    TIME_LIMIT,
  );

  it(
    'whose cleanup needs an operator leaves it quarantined; one that could not drain, too',
    async () => {
      const failsAt = async (stage: string) => {
        const { id } = await machineInService(server);
        answers.set(`${stage} ${id}`, 400);
        const failed = await ended(server, await decommission(server, id, 'storage_cleanup'));
        expect(failed).toMatchObject({
          status: 'failed_manual_intervention',
          error: { code: 'HOOK_FAILED', details: { step: stage } },
        });
        expect(await statusOf(server, id)).toMatchObject({ service: 'quarantined' });
        expect(await moves(id)).toEqual(['draining', 'offline', 'quarantined']);
      };
      await Promise.all([failsAt('cleanup_storage'), failsAt('drain_node')]);
    },
    TIME_LIMIT,
  );

  it(
    'that failed while the agent reports is not blamed on the agent',
    async () => {
      const { id } = await machineInService(server);
      answers.set(`drain_node ${id}`, 400);
      const drain = await server.admin.drainMachine({ machineId: id, requestId: requestId() });
      expect(await ended(server, drain)).toMatchObject({ status: 'failed_manual_intervention' });
      expect(await statusOf(server, id)).toMatchObject({ service: 'offline', presence: 'ready' });
      const { summary, obstacles } = await server.admin.explainMachine({ machineId: id });
      expect(summary).toContain('is not in service: DRAIN op-');
      expect(obstacles).toHaveLength(1);
      expect(JSON.stringify(obstacles.map(({ what, unblock }) => [what, unblock]))).not.toMatch(
        /silent|agent/,
      );
    },
    TIME_LIMIT,
  );
});
