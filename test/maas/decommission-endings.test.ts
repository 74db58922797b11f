/** Document 3 §5.3, row by row: what a decommission does to its node while it runs, and where it leaves it. */
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  DecommissionMode_Value,
  OperatorAction_Value,
} from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { TestServer } from '../parts/server.ts';
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

async function inService() {
  const machine = await newMachine(server);
  expect(await ended(server, await onboard(server, machine.id))).toMatchObject({ status: 'completed' });
  return machine;
}

function decommission(machineId: string, mode: keyof typeof DecommissionMode_Value) {
  const call = { machineId, requestId: requestId(), mode: DecommissionMode_Value[mode] };
  return server.admin.decommissionMachine(call);
}

function retry(operationId: string) {
  const action = OperatorAction_Value.RETRY_STAGE;
  return server.admin.actOnOperation({ operationId, action, reason: 'the cause is gone' });
}

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
      const { id, mac } = await inService();
      // The record in MAAS goes late enough for somebody to see it.
      await site.simulator.admin.fault({ fault: 'slow', method: 'DELETE', mac, ms: 1_500, times: 1 });
      const { operationId } = await decommission(id, 'FULL_DECOMMISSION');
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
      const { id, mac } = await inService();
      await site.simulator.admin.fault({ fault: 'erase_failure', mac, times: null });
      const failed = await ended(server, await decommission(id, 'FULL_DECOMMISSION'));
      expect(failed).toMatchObject({ status: 'failed_retryable', error: { code: 'RELEASE_FAILED' } });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired', activeOperationId: '' });
      expect(await moves(id)).toEqual(['draining', 'retired']);
      await site.simulator.admin.clearFaults(mac);
      await retry(failed.operationId);
      expect(await ended(server, failed)).toMatchObject({ status: 'completed' });
      expect(await moves(id)).toEqual(['draining', 'retired', 'removing', 'deleted']);
    },
    TIME_LIMIT,
  );

  it(
    'whose uninstall fails has its node retired, and removing again when it goes on',
    async () => {
      const { id, mac } = await inService();
      await site.simulator.admin.fault({ fault: 'forbidden', method: 'DELETE', mac, times: null });
      const failed = await ended(server, await decommission(id, 'FULL_DECOMMISSION'));
      expect(failed).toMatchObject({
        status: 'failed_manual_intervention',
        error: { details: { step: 'remove_maas_record' } },
      });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired' });
      await site.simulator.admin.clearFaults(mac);
      await retry(failed.operationId);
      expect(await statusOf(server, id)).toMatchObject({ service: 'removing' });
      expect(await ended(server, failed)).toMatchObject({ status: 'completed' });
      expect(await moves(id)).toEqual(['draining', 'retired', 'removing', 'retired', 'removing', 'deleted']);
    },
    TIME_LIMIT,
  );

  it(
    'whose cleanup may pass leaves it retired, and brings it back into service when it has been tried again',
    async () => {
      const { id } = await inService();
      answers.set(`cleanup_storage ${id}`, 500);
      const failed = await ended(server, await decommission(id, 'SOFT_RESET'));
      expect(failed).toMatchObject({
        status: 'failed_retryable',
        error: { details: { step: 'cleanup_storage' } },
      });
      expect(await statusOf(server, id)).toMatchObject({ service: 'retired' });
      answers.delete(`cleanup_storage ${id}`);
      await retry(failed.operationId);
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
        const { id } = await inService();
        answers.set(`${stage} ${id}`, 400);
        const failed = await ended(server, await decommission(id, 'STORAGE_CLEANUP'));
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
      const { id } = await inService();
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
