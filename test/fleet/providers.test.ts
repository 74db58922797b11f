import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetService } from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import type { readConfiguration } from '../../src/server/settings/configuration.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;
beforeAll(async () => {
  const providers: ReturnType<typeof readConfiguration>['providers'] = { 'dc-2': { kind: 'fake' } };
  server = await startTestServer({ providers });
});
afterAll(() => server?.stop());

test('providers without machines are listed too, with their kind and where they come from', async () => {
  const { providers } = await server.client(FleetService, server.adminToken).listProviders({});
  expect(providers.map(({ name, kind, source, isDefault }) => [name, kind, source, isDefault])).toEqual([
    ['dc-2', 'fake', 'configuration', false],
    ['fake', 'fake', 'built-in', true],
    ['generic', 'generic', 'built-in', false],
  ]);
  expect(providers[0]?.capabilities).not.toEqual([]);
});

test('a caller with a scope sees the providers of its machines', async () => {
  await server.machines.registerMachine({
    machine: { machineId: 'a-1', spec: { customerId: 'acme', provider: 'dc-2' } },
  });
  const { secret } = await server.admin.createToken({
    name: 'acme',
    role: 'viewer',
    scope: 'customer_id=acme',
  });
  const { providers } = await server.client(FleetService, secret).listProviders({});
  expect(providers.map(({ name }) => name)).toEqual(['dc-2']);
});
