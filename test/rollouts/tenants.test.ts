// @module-tag extended: security/scopes.test.ts has rollouts of another scope.
/** Rollouts and budgets of a caller with a scope: those of others do not exist, and only its own machines count. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { fresh } from '../api/fleet.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { makeTenant, type Tenant } from '../security/tenants.ts';

let server: TestServer;
let acme: Tenant;
let globex: Tenant;
let rollouts: Client<typeof RolloutService>;
beforeAll(async () => {
  server = await startTestServer();
  acme = await makeTenant(server, 'acme', 1);
  globex = await makeTenant(server, 'globex', 2);
  rollouts = server.client(RolloutService, acme.tokens.admin);
});
afterAll(() => server?.stop());

const steps = [{ step: { case: 'reboot', value: {} } }] as const;

const READS = ['getRollout', 'listRolloutMachines'] as const;
const ACTS = [
  ['pauseRollout', {}],
  ['resumeRollout', {}],
  ['abortRollout', {}],
  ['approveWave', {}],
  ['rejectWave', {}],
  ['retryFailed', {}],
  ['skipMachines', { machineIds: ['globex-1'] }],
  ['updateLimits', { maxParallel: '1' }],
  ['rollBack', {}],
] as const;

describe('rollouts of others', () => {
  test('are not listed', async () => {
    const { rollouts: listed } = await rollouts.listRollouts({});
    expect(listed.map(({ rolloutId }) => rolloutId)).toEqual([acme.rolloutId]);
    const { rollouts: asked } = await rollouts.listRollouts({ filter: `machine_id=${globex.machineId}` });
    expect(asked).toEqual([]);
  });

  test.each([...READS.map((method) => [method, {}] as const), ...ACTS])(
    '%s: NOT_FOUND',
    async (method, fields) => {
      const call = rollouts[method] as (request: object) => Promise<unknown>;
      const ids = [globex.rolloutId, await ofTheFleet()];
      for (const rolloutId of ids)
        expect(await refusal(call({ rolloutId, requestId: fresh('act'), ...fields }))).toMatchObject({
          code: 'NOT_FOUND',
          reason: 'ROLLOUT_NOT_FOUND',
        });
    },
  );

  test('watchRollout: NOT_FOUND', async () => {
    expect(await refusal(rollouts.watchRollout({ rolloutId: globex.rolloutId }))).toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  let fleet: Promise<string> | null = null;
  /** One without a scope, that also has a machine of the caller. */
  function ofTheFleet(): Promise<string> {
    const spec = { machineIds: [acme.machineId, globex.machineId], steps: [...steps], gate: 'approval' };
    fleet ??= server
      .client(RolloutService, server.adminToken)
      .createRollout({ spec, requestId: fresh('fleet') })
      .then(({ rolloutId }) => rolloutId);
    return fleet;
  }
});

describe('a preview', () => {
  test('counts only machines of the caller', async () => {
    const { eligible, ineligible, waves } = await rollouts.previewRollout({
      spec: { filter: 'machine_id=*', steps: [...steps] },
    });
    expect({ eligible, ineligible }).toEqual({ eligible: 1, ineligible: [] });
    expect(waves.map(({ machines }) => machines)).toEqual([1]);
  });

  test('answers a machine of another tenant as one that does not exist', async () => {
    const preview = (id: string) =>
      rollouts.previewRollout({ spec: { machineIds: [acme.machineId, id], steps: [...steps] } });
    const facts = async (id: string) => {
      const { eligible, total, ineligible, warnings } = await preview(id);
      return JSON.stringify({ eligible, total, ineligible, warnings }).replaceAll(id, '<id>');
    };
    expect((await preview(globex.machineId)).eligible).toBe(1);
    expect(await facts(globex.machineId)).toBe(await facts('nothing-1'));
  });
});

describe('budgets of others', () => {
  test('are not listed, and can not be deleted', async () => {
    const { budgets } = await rollouts.listBudgets({});
    expect(budgets.map(({ name }) => name)).toEqual(['acme-budget']);
    expect(await refusal(rollouts.deleteBudget({ name: 'globex-budget' }))).toMatchObject({
      code: 'NOT_FOUND',
    });
  });
});
