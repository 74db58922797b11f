import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { floods } from './floods.ts';
import { addToSecurityTable } from './security-table.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ limits: { idle_connection_seconds: 1 } });
});
afterAll(() => server?.stop());

it('keeps serving others during floods', { timeout: 120_000 }, async () => {
  const scale = process.env.INGOT_LONG_TESTS === '1' ? 4 : 1;
  const rows = await floods({ ...server, token: server.adminToken, idleSeconds: 1 }, { scale });
  addToSecurityTable(
    ...rows.map(({ flood, sent, outcome, slowdown, failed }) => ({
      part: 'floods',
      what: flood,
      cases: 1,
      deviations: failed,
      figures: `${sent}: ${outcome}; honest calls ${slowdown.toFixed(1)} times as slow, ${failed} failed`,
    })),
  );
  const outcomes = Object.fromEntries(rows.map(({ flood, outcome }) => [flood, outcome]));
  expect(rows.map(({ flood, failed }) => [flood, failed])).toEqual(rows.map(({ flood }) => [flood, 0]));
  expect(outcomes).toMatchObject({
    'large bodies without a token': `${8 * scale} × 401`,
    'wrong tokens, each another one': `20 × 401, ${300 * scale - 20} × 429`,
    'streams that are reset at once (HTTP/2 rapid reset)': 'closed by the server, GOAWAY 11',
    'connections without a request': expect.stringMatching(/^0 still open/),
    'headers that arrive byte by byte': expect.stringMatching(/^0 still open/),
  });
});
