// @module-tag extended: strict-maas.test.ts has refusals; reimage.test.ts the disks.
/** Workflows against a MAAS that behaves as its source says: erased disks and failed tests. */
import { describe, expect, it } from 'vitest';
import {
  act,
  decommission,
  ended,
  machineInMaas,
  newMachine,
  onboard,
  requestId,
  statusOf,
} from './fleet.ts';
import {
  inService,
  logOf,
  messageOf,
  opsOn,
  server,
  setUpStrictSite,
  site,
  TIME_LIMIT,
} from './strict-site.ts';

setUpStrictSite();

// Each has its own machine, and faults are set per machine: they can run concurrently.
describe.concurrent('the disks of a MAAS', () => {
  describe('what MAAS did about the disks', () => {
    it(
      'is reported where it erased them, in the result, the log and the history',
      async () => {
        const { id } = await inService();
        const operation = await ended(server, await decommission(server, id, 'reimage'));
        const erased = 'MAAS erased the disks (securely where a disk can, otherwise overwritten with zeros)';
        expect(messageOf(operation, 'release_maas_node')).toBe(`MAAS says Ready; ${erased}`);
        expect(await logOf(operation.operationId)).toContain(erased);
        const events = await server.sql<{ line: string }>(
          'SELECT row_to_json(e)::text AS line FROM events e WHERE machine_id = $1',
          [id],
        );
        expect(events.map(({ line }) => line).join('\n')).toContain(erased);
      },
      TIME_LIMIT,
    );

    it(
      'is not claimed where another user released the machine',
      async () => {
        const { id, mac } = await inService();
        const { system_id: systemId } = await machineInMaas(site, mac);
        await server.admin
          .drainMachine({ machineId: id, requestId: requestId() })
          .then((one) => ended(server, one));
        await site.simulator.admin.changeMachine(systemId, { status: 'Ready' });
        const operation = await ended(server, await decommission(server, id, 'full_decommission'));
        expect(operation).toMatchObject({ status: 'completed' });
        expect(messageOf(operation, 'release_maas_node')).toBe(
          'MAAS says Ready; MAAS had released it before: whether its disks were erased then, it does not say',
        );
      },
      TIME_LIMIT,
    );

    it.each([
      ['at once, where MAAS reports it', false],
      ['after a while, where it reports nothing', true],
    ])(
      'a release that hangs in Disk erasing after a failed power off is ended %s',
      { tags: ['extended'], timeout: TIME_LIMIT },
      async (_when, isQuiet) => {
        const { id, mac } = await inService();
        const { system_id: systemId } = await machineInMaas(site, mac);
        const fault = isQuiet ? 'power_off_failure_quiet' : 'power_off_failure';
        await site.simulator.admin.fault({ fault, mac });
        const operation = await ended(server, await decommission(server, id, 'reimage'));
        expect(operation).toMatchObject({ status: 'completed' });
        expect(messageOf(operation, 'release_maas_node')).toContain('MAAS erased the disks (securely');
        expect((await opsOn(systemId)).filter((op) => ['abort', 'release'].includes(op))).toEqual([
          ...['release', 'abort', 'release'],
        ]);
        // What is erased is not erased again.
        expect((await machineInMaas(site, mac)).release_runs).toHaveLength(1);
      },
    );

    it('a BMC that refuses is reported in MAAS’ words, and tried again', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const { id, mac } = await inService();
      await site.simulator.admin.fault({ fault: 'power_on_failure', mac, times: null });
      const operation = await ended(server, await decommission(server, id, 'reimage'));
      expect(operation).toMatchObject({
        status: 'failed_retryable',
        error: { code: 'RELEASE_FAILED', message: expect.stringContaining('the BMC refused the command') },
      });
      await site.simulator.admin.clearFaults(mac);
      await act(server, operation, 'RETRY_STAGE');
      expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
    });
  });

  describe('machines whose tests failed', () => {
    it(
      'need a human, who may override it by a label or a retry, or take the machine out of the inventory',
      async () => {
        const machines = [await newMachine(server), await newMachine(server), await newMachine(server)];
        const [labelled, , bad] = machines;
        const fail = async ({ id, mac }: { id: string; mac: string }) => {
          await site.simulator.admin.fault({ fault: 'testing_failure', mac });
          const operation = await ended(server, await onboard(server, id));
          expect(operation).toMatchObject({
            status: 'failed_manual_intervention',
            error: { code: 'FAILED_TESTING', message: 'MAAS says: memtester failed' },
          });
          expect(await statusOf(server, id)).toMatchObject({ service: 'quarantined' });
          if (id !== bad?.id) {
            const labels = { 'maas/failed-testing': 'override' };
            const update = { machine: { machineId: id, labels }, updateMask: { paths: ['labels'] } };
            if (id === labelled?.id) await server.machines.updateMachine(update);
            await act(server, operation, 'RETRY_STAGE');
            expect(await ended(server, operation)).toMatchObject({ status: 'completed' });
            return;
          }
          const gone = await ended(server, await decommission(server, id, 'full_decommission'));
          expect(gone).toMatchObject({ status: 'completed' });
          expect(await statusOf(server, id)).toMatchObject({ service: 'deleted' });
          await expect(machineInMaas(site, mac)).rejects.toThrow('MAAS has no machine');
        };
        await Promise.all(machines.map(fail));
      },
      TIME_LIMIT,
    );

    it('after they were deployed are still released and erased', {
      tags: ['extended'],
      timeout: TIME_LIMIT,
    }, async () => {
      const { id, mac } = await inService();
      const { system_id: systemId } = await machineInMaas(site, mac);
      await server.admin
        .drainMachine({ machineId: id, requestId: requestId() })
        .then((one) => ended(server, one));
      await site.simulator.admin.changeMachine(systemId, { status: 'Failed testing', osystem: 'ubuntu' });
      const operation = await ended(server, await decommission(server, id, 'full_decommission'));
      expect(operation).toMatchObject({ status: 'completed' });
      expect(messageOf(operation, 'release_maas_node')).toContain('MAAS erased the disks');
      const ops = (await opsOn(systemId)).slice(-3);
      expect(ops).toEqual(['override_failed_testing', 'release', 'DELETE']);
    });
  });
});
