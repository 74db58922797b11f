// @module-tag extended: security/roles.test.ts and sessions.test.ts make tokens.
/** A token opens every door from the moment that its creation was answered, on every replica, however many are created. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { startTestServer, type TestServer } from '../parts/server.ts';
import { fresh } from './fleet.ts';

let replicas: readonly TestServer[];
beforeAll(async () => {
  const first = await startTestServer();
  replicas = [first, await startTestServer({ database: first.database })];
});
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.stop();
});

const LIST = '/baremetal.v2.MachineService/ListMachines';

const DOORS: Readonly<Record<string, (at: TestServer, secret: string) => Promise<unknown>>> = {
  gRPC: async (at, secret) => Boolean(await at.client(MachineService, secret).listMachines({ pageSize: 1 })),
  Connect: (at, secret) => status(at, LIST, { method: 'POST', body: '{"pageSize":1}' }, secret),
  REST: (at, secret) => status(at, '/api/v1/nodes?limit=1', {}, secret),
  session: (at, secret) => status(at, '/auth/session', { method: 'POST' }, secret),
};
const LET_IN = { gRPC: true, Connect: 200, REST: 200, session: 201 };

async function status(at: TestServer, path: string, init: RequestInit, secret: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${secret}`,
    ...(init.body ? { 'content-type': 'application/json' } : {}),
  };
  return (await fetch(`${at.httpUrl}${path}`, { ...init, headers })).status;
}

/** Created on one, used at once on both, through every door at the same time. */
async function createAndUse(creator: TestServer): Promise<void> {
  const { secret } = await creator.admin.createToken({ name: fresh('at-once'), role: 'viewer' });
  for (const replica of replicas) {
    const answers = Object.entries(DOORS).map(async ([door, open]) => [door, await open(replica, secret)]);
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(LET_IN);
  }
}

async function manyTimes(rounds: number): Promise<void> {
  // Revocations empty the caches of both meanwhile.
  const churn = async () => {
    const name = fresh('revoked');
    await replicas[1]?.admin.createToken({ name, role: 'viewer' });
    await replicas[0]?.admin.revokeToken({ name });
  };
  for (let round = 0; round < rounds; round += 1)
    await Promise.all([...replicas.map(createAndUse), createAndUse(replicas[0] as TestServer), churn()]);
}

test('a new token is let in at once', () => manyTimes(10));

test('a new token is let in at once, a thousand times', { tags: ['extended'], timeout: 300_000 }, () =>
  manyTimes(350),
);
