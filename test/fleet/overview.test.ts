import { timestampDate } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITED_LAYERS, STATE_TIME_LIMITS } from '../../src/domain/machine/state-time-limit.ts';
import { MachineFlag_Value } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fresh, newMachine, run, start, waitingAt } from '../api/fleet.ts';
import { type Client, startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;

beforeAll(async () => {
  server = await startTestServer();
  fleet = server.client(FleetService, server.adminToken);
});
afterAll(() => server?.stop());

async function listed(filter: string): Promise<string[]> {
  const { machines } = await server.machines.listMachines({ filter, pageSize: 1000 });
  return machines.map(({ machineId }) => machineId).sort();
}

describe('the overview', () => {
  test('counts machines by the value of each layer, and those that were removed not at all', async () => {
    const machineId = await newMachine(server);
    await newMachine(server, { phase: 'MAINTENANCE' });
    const removed = await newMachine(server);
    await server.sql(`UPDATE machines SET service = 'deleted' WHERE machine_id = $1`, [removed]);
    await server.sql(`UPDATE machines SET service = 'active', presence = 'ready' WHERE machine_id = $1`, [
      machineId,
    ]);
    const overview = await fleet.getOverview({});
    const { machines } = await server.machines.listMachines({ pageSize: 1000 });
    expect(overview.machines).toBe(machines.length);
    expect(overview.facets.map(({ field }) => field)).toEqual([
      'effective_state',
      'phase',
      'service',
      'install',
      'presence',
    ]);
    for (const { field, values } of overview.facets) {
      expect(values.reduce((sum, { machines }) => sum + machines, 0)).toBe(overview.machines);
      for (const { value, machines } of values) {
        const filter = value === '' ? `NOT ${field}=*` : `${field}=${value}`;
        expect(`${filter} ${(await listed(filter)).length}`).toBe(`${filter} ${machines}`);
      }
    }
    expect(overview).toMatchObject({ agentsReady: 1, agentsLost: 0 });
    expect(
      Math.abs(timestampDate(overview.at ?? ({ seconds: 0n, nanos: 0 } as never)).getTime() - Date.now()),
    ).toBeLessThan(60_000);
  });

  test('groups the machines that need an operator by reason, with a filter that shows exactly these', async () => {
    const spec = { targetClusterRef: 'c' };
    const labels = { 'fake/fail-step': 'verify' };
    const failed: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      const machineId = await newMachine(server, { phase: 'MAINTENANCE', labels, spec });
      await run(server, 'REIMAGE', machineId);
      failed.push(machineId);
    }
    const [first = ''] = failed;
    const flagged = await newMachine(server);
    for (const [machineId, flag] of [
      [flagged, MachineFlag_Value.RMA],
      [first, MachineFlag_Value.RETIRED],
    ] as const)
      await server.admin.flagMachine({ machineId, flag, reason: `fan of ${machineId}` });
    const { attention } = await fleet.getOverview({});
    expect(attention.map(({ machines }) => machines)).toEqual([2, 1, 1]);
    expect(attention[0]).toMatchObject({
      condition: 'NeedsIntervention',
      machines: 2,
      exampleMachineId: failed[2],
    });
    expect(attention[0]?.exampleMessage).not.toBe('');
    expect(attention.slice(1)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          condition: 'RMA',
          reason: 'SetByAdmin',
          exampleMessage: `fan of ${flagged}`,
        }),
        expect.objectContaining({ condition: 'Retired', reason: 'SetByAdmin', exampleMachineId: first }),
      ]),
    );
    const shown = Object.fromEntries(
      await Promise.all(attention.map(async ({ condition, filter }) => [condition, await listed(filter)])),
    );
    expect(shown).toEqual({ NeedsIntervention: failed.slice(1).sort(), RMA: [flagged], Retired: [first] });
    const both = await listed('effective_state=ATTENTION OR effective_state=BLOCKED');
    expect(both).toEqual(Object.values(shown).flat().sort());
  });

  test('counts operations under way, and those that ended in the last day', async () => {
    const machineId = await newMachine(server, { phase: 'READY', labels: { 'fake/hang-step': 'reboot' } });
    const before = await fleet.getOverview({});
    const operation = await start(server, 'REBOOT', machineId);
    await waitingAt(server, operation, 'reboot');
    const during = await fleet.getOverview({});
    expect(during.operationsUnderWay).toEqual({ REBOOT: 1 });
    expect(during.operationsEnded).toEqual(before.operationsEnded);
    expect(during.operationsEnded.SUCCEEDED).toBeGreaterThan(0);
    expect(during.operationsEnded.FAILED).toBe(3);
    await server.sql(
      `UPDATE operations SET finished_at = now() - interval '25 hours' WHERE status LIKE 'failed%'`,
    );
    expect((await fleet.getOverview({})).operationsEnded.FAILED).toBeUndefined();
    await server.machines.cancelOperation({ operationId: operation.operationId });
  });
});

describe('what stays too long', () => {
  const columns = { service: 'service', install: 'install' } as const;
  /** What a machine must have to be in an effective state. */
  const EFFECTIVE = {
    NEW: `phase = 'FACTORY_READY'`,
    BUSY: `phase = 'READY', active_operation_id = 'op-1'`,
    MAINTENANCE: `phase = 'MAINTENANCE'`,
    ATTENTION: `conditions = '{"NeedsIntervention": {"status": true, "reason": "x", "message": "", "lastTransition": "2026-01-01T00:00:00Z"}}'`,
  } as Readonly<Record<string, string>>;

  test.each(STATE_TIME_LIMITS)(
    '$layer $state is overdue after its limit, and not before',
    async ({ layer, state, limitSeconds, advice }) => {
      const { since } = LIMITED_LAYERS[layer];
      const change = layer === 'effective_state' ? EFFECTIVE[state] : `${columns[layer]} = '${state}'`;
      const ids = [fresh('late'), fresh('in-time'), fresh('removed')];
      for (const machineId of ids) {
        await server.machines.registerMachine({ machine: { machineId } });
        await server.sql(`UPDATE machines SET ${change} WHERE machine_id = $1`, [machineId]);
        const margin = machineId === ids[1] ? -60 : 60;
        await server.sql(
          `UPDATE machines SET ${since} = now() - ($2 + ${margin}) * interval '1 s' WHERE machine_id = $1`,
          [machineId, limitSeconds],
        );
      }
      if (layer !== 'service')
        await server.sql(`UPDATE machines SET service = 'deleted' WHERE machine_id = $1`, [ids[2]]);
      else await server.sql(`UPDATE machines SET service = 'active' WHERE machine_id = $1`, [ids[2]]);
      const { overdue } = await fleet.getOverview({});
      expect(overdue).toMatchObject([
        { layer, state, limitSeconds: BigInt(limitSeconds), machines: 1, advice },
      ]);
      expect(await listed(overdue[0]?.filter ?? '')).toEqual([ids[0]]);
      await server.sql('DELETE FROM machine_looks WHERE machine_id = ANY($1)', [ids]);
      await server.sql('DELETE FROM machines WHERE machine_id = ANY($1)', [ids]);
    },
  );
});

test('many concurrent readers share one query, and each sees what it has written itself', async () => {
  const before = (await fleet.getOverview({})).machines;
  const seen = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      await server.machines.registerMachine({ machine: { machineId: fresh(`shared-${index}`) } });
      return (await fleet.getOverview({})).machines;
    }),
  );
  expect(Math.min(...seen)).toBeGreaterThan(before);
  expect((await fleet.getOverview({})).machines).toBe(before + 20);
});
