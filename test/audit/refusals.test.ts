/** Refused calls are events: who, from where, what and why; many of them are one event with their number. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import { type Event, FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { fresh } from '../api/fleet.ts';
import { call } from '../nodes/rest.ts';
import { type Client, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

let server: TestServer;
let fleet: Client<typeof FleetService>;
let viewerToken: string;

beforeAll(async () => {
  server = await startTestServer();
  fleet = server.client(FleetService, server.adminToken);
  ({ secret: viewerToken } = await server.admin.createToken({ name: 'desk', role: 'viewer' }));
});
afterAll(() => server?.stop());

async function refused(subject: string, to: string): Promise<Event[]> {
  const filter = `kind=access AND subject="${subject}" AND to=${to}`;
  return until(
    async () => (await fleet.listEvents({ filter })).events,
    (events) => events.length > 0,
  );
}

const counted = (events: readonly Event[]) =>
  events.reduce((sum, { metadata }) => sum + (JSON.parse(metadata) as { count: number }).count, 0);

test('a denied call, with the identity and the address of the caller', async () => {
  const desk = server.client(FleetService, viewerToken);
  const admin = server.client(AdminService, viewerToken);
  expect((await refusal(admin.createPool({ name: fresh('pool') }))).reason).toBe('PERMISSION_DENIED');
  const [event] = await refused('baremetal.admin.v1.AdminService/CreatePool', 'PERMISSION_DENIED');
  expect(event).toMatchObject({ identity: 'operator:desk', address: '127.0.0.1', via: 'token' });
  expect(event?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  // Events of refusals are for admins.
  expect((await desk.listEvents({ filter: 'kind=access' })).events).toEqual([]);
});

test('a call without a token, with a wrong one, and a failed one', async () => {
  const subject = 'baremetal.fleet.v1.FleetService/WhoAmI';
  expect((await refusal(server.client(FleetService).whoAmI({}))).code).toBe('UNAUTHENTICATED');
  expect((await refusal(server.client(FleetService, 'ingot_wrong').whoAmI({}))).code).toBe('UNAUTHENTICATED');
  const events = await until(
    () => refused(subject, 'UNAUTHENTICATED'),
    (found) => counted(found) === 2,
  );
  expect(events[0]).toMatchObject({ identity: 'anonymous:unknown', address: '127.0.0.1' });
  await refusal(server.machines.getMachine({ machineId: 'none-such' }));
  const [failed] = await refused('baremetal.v2.MachineService/GetMachine', 'MACHINE_NOT_FOUND');
  expect(failed).toMatchObject({ identity: 'admin:admin' });
});

test('a refused request of the REST routes', async () => {
  expect((await call(server, 'DELETE', '/images/none-such', undefined, viewerToken)).status).toBe(403);
  const [denied] = await refused('DELETE /api/v1/images/:name', 'PERMISSION_DENIED');
  expect(denied).toMatchObject({ identity: 'operator:desk', address: '127.0.0.1', via: 'token' });
  expect((await call(server, 'POST', '/machine/keepalive', {}, null)).status).toBe(403);
  const [agent] = await refused('POST /api/v1/machine/keepalive', 'INVALID_TOKEN');
  expect(agent).toMatchObject({ identity: 'anonymous:unknown' });
  expect((await call(server, 'POST', '/nodes', { mac_address: 'x' })).status).toBe(422);
  await refused('POST /api/v1/nodes', 'INVALID_FIELD');
});

test('a flood is a few events that count it', async () => {
  const subject = 'GET /api/v1/nodes';
  const path = `${server.httpUrl}/api/v1/nodes`;
  const flood = 600;
  for (let sent = 0; sent < flood; sent += 50)
    await Promise.all(
      Array.from({ length: 50 }, async () =>
        expect((await fetch(path, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401),
      ),
    );
  const events = await refused(subject, 'UNAUTHENTICATED');
  expect(events.length).toBeLessThan(5);
  expect(counted(events)).toBeGreaterThan(0);
});

test('a change says which call made it', async () => {
  const name = fresh('pool');
  await server.admin.createPool({ name });
  const [event] = (await fleet.listEvents({ filter: `kind=pool AND subject=${name}` })).events;
  expect(event).toMatchObject({ identity: 'admin:admin', address: '127.0.0.1', via: 'token' });
  const same = await fleet.listEvents({ filter: `request_id="${event?.requestId}"` });
  expect(same.events.map(({ eventId }) => eventId)).toEqual([event?.eventId]);
});

test('the settings that a server starts with are an event, without secrets', async () => {
  const [event] = (await fleet.listEvents({ filter: 'kind=settings' })).events;
  expect(event).toMatchObject({ subject: 'server', to: 'loaded', identity: 'system:server' });
  const { values } = JSON.parse(event?.metadata ?? '{}') as { values: Record<string, string> };
  expect(values).toMatchObject({ default_provider: 'fake', leaseMs: '10000' });
  expect(values.databaseUrl).toMatch(/^postgres(ql)?:/);
  expect(event?.metadata).not.toMatch(/:\/\/[^/…]*:[^/…]*@/);
});
