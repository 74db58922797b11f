// @module-tag extended: api/bad-input.test.ts and api/raw-texts.test.ts have such input field by field.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { fuzz } from './fuzz.ts';
import { addToSecurityTable } from './security-table.ts';

/** `npm run test:security` has the long run. */
const CASES = process.env.INGOT_LONG_TESTS === '1' ? 100_000 : 1_500;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ pools: ['gpu'] });
});
afterAll(() => server?.stop());

it('answers what no honest client sends as the fault of the client, on every surface', {
  timeout: 7_200_000,
}, async () => {
  const agent = await server.admin.createMachine({ pool: 'gpu' });
  const tokens = [server.adminToken, server.adminToken, agent.token];
  const { rows, failures, perSecond, lateness } = await fuzz(
    { ...server, tokens },
    { seed: 14, cases: CASES },
  );
  addToSecurityTable(
    ...rows.map(({ surface, cases, targets }) => ({
      part: 'fuzz',
      what: `${surface}: hostile input of ${targets} methods and routes, seed 14`,
      cases,
      deviations: failures.filter((failure) => failure.includes(`: ${surface} `)).length,
      figures: `${Math.round(perSecond)} cases/s in all; ${lateness}`,
    })),
  );
  expect(failures.slice(0, 10)).toEqual([]);
  expect(rows.map(({ surface }) => surface).toSorted()).toEqual(['Connect and gRPC-Web', 'REST', 'gRPC']);
  expect(server.logged.filter((line) => line.includes('unexpected error'))).toEqual([]);
});
