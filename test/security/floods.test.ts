// @module-tag extended: limits.test.ts and connections.test.ts have each limit by itself.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SERVER_NAMES, type TestAuthority, testAuthority } from '../parts/certificates.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { type FloodRow, floods } from './floods.ts';
import { addToSecurityTable } from './security-table.ts';

const LONG = process.env.INGOT_LONG_TESTS === '1';
/** Flood and server are one process here: with many more calls, an honest connection may come to its turn late. */
const IDLE_SECONDS = LONG ? 4 : 1;
const LIMITS = { idle_connection_seconds: IDLE_SECONDS };
const SECURE_IDLE_SECONDS = 4;

let server: TestServer;
let secure: TestServer;
let authority: TestAuthority;

beforeAll(async () => {
  server = await startTestServer({ limits: LIMITS });
  authority = testAuthority();
  const { cert, key } = authority.issue({ name: 'server', names: SERVER_NAMES, purpose: 'server' });
  const tls = { cert_file: cert, key_file: key, caFile: authority.caFile };
  // Flood and server are one process here: a handshake of an honest client must not be late because of that.
  if (LONG) secure = await startTestServer({ limits: { idle_connection_seconds: SECURE_IDLE_SECONDS }, tls });
});
afterAll(async () => {
  await server?.stop();
  await secure?.stop();
  authority?.remove();
});

function addToTable(rows: readonly FloodRow[]): void {
  addToSecurityTable(
    ...rows.map(({ flood, sent, outcome, slowdown, failed, late }) => ({
      part: 'floods',
      what: flood,
      cases: 1,
      deviations: failed,
      figures: `${sent}: ${outcome}; honest calls ${slowdown.toFixed(1)} times as slow, ${failed} failed${late === 0 ? '' : `, ${late} were sent too late`}`,
    })),
  );
}

const NONE_OPEN = expect.stringMatching(/^0 still open/);
/** ENHANCE_YOUR_CALM: the client learns why. */
const CALMED = 'closed by the server, GOAWAY 11';
/** Under TLS the library may count to its own limit first. */
const CLOSED = expect.stringMatching(/^closed by the server/);

function outcomesOf(rows: readonly FloodRow[]): Record<string, string> {
  addToTable(rows);
  expect(rows.map(({ flood, failed }) => [flood, failed])).toEqual(rows.map(({ flood }) => [flood, 0]));
  return Object.fromEntries(rows.map(({ flood, outcome }) => [flood.replace(' (TLS)', ''), outcome]));
}

const expected = (scale: number) => ({
  'large bodies without a token': `${8 * scale} × 401`,
  'wrong tokens, each another one': `20 × 401, ${300 * scale - 20} × 429`,
  'streams that are reset at once (HTTP/2 rapid reset)': CALMED,
  'connections without a request': NONE_OPEN,
  'headers that arrive byte by byte': NONE_OPEN,
});

it('keeps serving others during floods', { timeout: 600_000 }, async () => {
  const scale = LONG ? 4 : 1;
  const target = { ...server, token: server.adminToken, idleSeconds: IDLE_SECONDS };
  const rows = await floods(target, { scale });
  expect(outcomesOf(rows)).toMatchObject(expected(scale));
});

it.runIf(LONG)('keeps serving others during floods over TLS', { timeout: 600_000 }, async () => {
  const target = { ...secure, token: secure.adminToken, idleSeconds: SECURE_IDLE_SECONDS, ca: authority.ca };
  const rows = await floods(target, { scale: 1 });
  expect(outcomesOf(rows)).toMatchObject({
    ...expected(1),
    'streams that are reset at once (HTTP/2 rapid reset)': CLOSED,
    'TLS handshakes that stop half-way': NONE_OPEN,
    'streams of the HTTP port that are reset at once': CLOSED,
  });
});
