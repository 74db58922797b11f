import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ limits: { new_machines_per_minute: 3 } });
});
afterAll(() => server?.stop());

function report(mac: string): Promise<Response> {
  return fetch(`${server.httpUrl}/api/v1/report`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mac_address: mac }),
  });
}

it('takes in only so many new machines of a network in a minute', async () => {
  for (const mac of ['52:54:00:00:00:01', '52:54:00:00:00:02']) expect((await report(mac)).status).toBe(200);
  const script = await fetch(`${server.httpUrl}/api/v1/boot?mac=52:54:00:00:00:03`);
  expect(await script.text()).toContain('is discovered');

  const refused = await report('52:54:00:00:00:04');
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ reason: 'DISCOVERY_TOO_FAST' });
  const booted = await fetch(`${server.httpUrl}/api/v1/boot?mac=52:54:00:00:00:05`);
  expect(await booted.text()).toContain('not taken in now');

  const [{ count } = { count: 0 }] = await server.sql<{ count: number }>(
    'select count(*)::int as count from nodes',
  );
  expect(count).toBe(3);
  // One that is known is no new machine.
  expect((await report('52:54:00:00:00:01')).status).toBe(200);
});
