/** Customer, serial number and location: fields of the spec in both APIs, in masks, filters, orders and counts. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MACHINE_FILTER } from '../../src/domain/filter/machine-filter.ts';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { machineCondition } from '../../src/store/machines/machine-condition.ts';
import { readFilter } from '../../src/surfaces/rpc/read-filter.ts';
import { v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { fresh } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

const LOCATION = { site: 'fra1', row: '3', rack: 'r11', unit: 'U14' };
const SPEC = { customerId: 'acme', serial: 'SN-0815', location: LOCATION };

describe('a machine', () => {
  test('keeps what either API registers, and shows it in both', async () => {
    const v1 = v1Of(server).machines;
    for (const [writer, reader] of [
      [v1, server.machines],
      [server.machines, v1],
    ] as const) {
      const machineId = fresh('placed');
      const registered = await writer.registerMachine({ machine: { machineId, spec: SPEC } });
      expect(registered.spec).toMatchObject(SPEC);
      expect((await reader.getMachine({ machineId })).spec).toMatchObject(SPEC);
    }
  });

  test('has no location while nothing is known of it', async () => {
    const { spec } = await server.machines.registerMachine({ machine: {} });
    expect(spec).toMatchObject({ customerId: '', serial: '' });
    expect(spec?.location).toBeUndefined();
  });

  test('from before the fields were there reads and changes as if it had them empty', async () => {
    const machineId = fresh('old');
    await server.sql(
      `INSERT INTO machines (machine_id, labels, spec, phase)
       VALUES ($1, '{}', '{"provider": "fake", "ssh_endpoint": "", "bmc_endpoint": "", "target_cluster_ref": "",
         "mac_addresses": []}', 'READY')`,
      [machineId],
    );
    expect((await server.machines.getMachine({ machineId })).spec).toMatchObject({
      customerId: '',
      serial: '',
    });
    const paths = ['spec.location.rack'];
    const changed = await server.machines.updateMachine({
      machine: { machineId, spec: { location: { rack: 'r1' } } },
      updateMask: { paths },
    });
    expect(changed.spec?.location).toMatchObject({ site: '', row: '', rack: 'r1', unit: '' });
  });

  test.each([
    { paths: ['spec.customer_id'], spec: { ...SPEC, customerId: 'umbrella' } },
    { paths: ['spec.serial'], spec: { ...SPEC, serial: '' } },
    { paths: ['spec.location'], spec: { ...SPEC, location: { site: '', row: '', rack: 'r12', unit: '' } } },
    { paths: ['spec.location.rack'], spec: { ...SPEC, location: { ...LOCATION, rack: 'r12' } } },
    {
      paths: ['spec.location.rack', 'spec.location.unit'],
      spec: { ...SPEC, location: { ...LOCATION, rack: 'r12', unit: '' } },
    },
  ])('is changed by the mask $paths, and stays the same otherwise', async ({ paths, spec }) => {
    const machineId = fresh('placed');
    await server.machines.registerMachine({ machine: { machineId, spec: SPEC } });
    const machine = { machineId, spec: { customerId: 'umbrella', location: { rack: 'r12' } } };
    const updated = await server.machines.updateMachine({ machine, updateMask: { paths } });
    expect(updated.spec).toMatchObject(spec);
  });

  test.each([
    ['spec.customer_id', { customerId: 'a\u0000' }],
    ['spec.customer_id', { customerId: 'x'.repeat(129) }],
    ['spec.serial', { serial: 'a\nb' }],
    ['spec.location.rack', { location: { rack: 'x'.repeat(65) } }],
    ['spec.location.unit', { location: { unit: '\u001b[31m' } }],
    ['spec.location.site', { location: { site: ' fra1' } }],
  ])('with a bad %s is refused in both APIs', async (field, spec) => {
    for (const api of [server.machines, v1Of(server).machines]) {
      const error = await refusal(api.registerMachine({ machine: { machineId: 'refused', spec } }));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', violations: [{ field }] });
    }
  });

  test('is refused with the paths that do not exist', async () => {
    const { machineId } = await server.machines.registerMachine({ machine: {} });
    const updateMask = { paths: ['spec.location.shelf'] };
    const error = await refusal(server.machines.updateMachine({ machine: { machineId }, updateMask }));
    expect(error.message).toContain('spec.location, ');
    expect(error.message).toContain('spec.location.rack');
  });
});

describe('filters and counts', () => {
  const group = fresh('group');
  const ids = ['both', 'label', 'placed', 'none'].map((name) => `${group}-${name}`);
  const [both, label, placed, none] = ids;

  beforeAll(async () => {
    const register = (machineId: string | undefined, labels: Record<string, string>, spec: object) =>
      server.machines.registerMachine({ machine: { machineId: machineId ?? '', labels, spec } });
    await register(both, { rack: 'r1' }, { ...SPEC, location: { rack: 'r2' } });
    await register(label, { rack: 'r1' }, { location: { site: 'fra1' } });
    await register(placed, {}, { ...SPEC, customerId: 'umbrella', location: { ...LOCATION, rack: 'r1' } });
    await register(none, {}, {});
  });

  test.each([
    ['customer_id = "acme"', [both]],
    ['spec.customer_id:mbr', [placed]],
    ['customer_id=""', [label, none]],
    ['customer_id!=""', [both, placed]],
    ['customer_id:*', [both, placed]],
    ['serial=SN-0815', [both, placed]],
    ['spec.serial=SN*', [both, placed]],
    ['location.rack="r1"', [placed]],
    ['spec.location.rack=r2', [both]],
    ['location.site=fra1', [label, placed]],
    ['location.row=3 AND location.unit=U14', [placed]],
    ['effective_rack=r1', [label, placed]],
    ['effective_rack=r2', [both]],
    ['effective_rack=""', [none]],
  ])('%s', async (filter, expected) => {
    const whole = `machine_id="${group}-*" AND (${filter})`;
    for (const api of [server.machines, v1Of(server).machines]) {
      const { machines } = await api.listMachines({ filter: whole });
      expect(machines.map(({ machineId }) => machineId)).toEqual([...expected].sort());
    }
  });

  test('racks are those of locations before those of labels', async () => {
    const fleet = server.client(FleetService, server.adminToken);
    const { facets } = await fleet.countMachines({
      filter: `machine_id="${group}-*"`,
      facets: ['effective_rack', 'location.rack', 'labels.rack', 'customer_id', 'location.site'],
    });
    const counts = facets.map(({ field, values }) => [
      field,
      ...values.map(({ value, machines }) => `${value}=${machines}`),
    ]);
    expect(counts).toEqual([
      ['effective_rack', 'r1=2', '=1', 'r2=1'],
      ['location.rack', '=2', 'r1=1', 'r2=1'],
      ['labels.rack', '=2', 'r1=2'],
      ['customer_id', '=2', 'acme=1', 'umbrella=1'],
      ['location.site', '=2', 'fra1=2'],
    ]);
  });

  test.each([
    ['customer_id=acme', 'machines_by_customer'],
    ['serial=SN-0815', 'machines_by_serial'],
    ['location.site=fra1', 'machines_by_site'],
    ['location.row=3', 'machines_by_row'],
    ['location.rack=r1', 'machines_by_location_rack'],
    ['effective_rack=r1', 'machines_by_rack'],
    ['active_operation_id!=""', 'machines_by_active_operation'],
  ])('%s is answered by the index %s', async (filter, index) => {
    expect(await planOf(filter)).toContain(index);
  });

  async function planOf(filter: string): Promise<string> {
    const { text, values } = machineCondition({ filter: readFilter(filter, MACHINE_FILTER), scope: null }, 1);
    const client = new pg.Client({ connectionString: server.database.url });
    await client.connect();
    try {
      await client.query(
        'SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off',
      );
      const plan = await client.query({
        text: `EXPLAIN SELECT machine_id FROM machines WHERE ${text}`,
        values: [...values],
        rowMode: 'array',
      });
      return plan.rows.join('\n');
    } finally {
      await client.end();
    }
  }
});
