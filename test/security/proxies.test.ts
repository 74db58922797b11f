/** Callers behind a reverse proxy, and callers that only say that they are. */
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callUnary, refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { until } from '../parts/until.ts';

const LIST = '/baremetal.v2.MachineService/ListMachines';
const LIMITS = { failed_logins_per_address: 3 };

let behind: TestServer;
let direct: TestServer;

beforeAll(async () => {
  behind = await startTestServer({ limits: LIMITS, configuration: { trusted_proxies: ['127.0.0.0/8'] } });
  direct = await startTestServer({ limits: LIMITS });
});
afterAll(async () => {
  await behind?.stop();
  await direct?.stop();
});

let guesses = 0;

/** A wrong token, another one each time, as a proxy passes it on. */
const ways: Readonly<Record<string, (server: TestServer, caller: string) => Promise<number | string>>> = {
  REST: async ({ httpUrl }, caller) => {
    const headers = { authorization: `Bearer ${guesses++}-rest`, 'x-forwarded-for': caller };
    return (await fetch(`${httpUrl}/api/v1/nodes`, { headers })).status;
  },
  Connect: async ({ httpUrl }, caller) => {
    const headers = {
      authorization: `Bearer ${guesses++}-connect`,
      'x-forwarded-for': caller,
      'content-type': 'application/json',
    };
    return (await fetch(httpUrl + LIST, { method: 'POST', headers, body: '{}' })).status;
  },
  gRPC: async ({ channel }, caller) => {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${guesses++}-grpc`);
    metadata.set('x-forwarded-for', caller);
    const { code } = await refusal(callUnary(channel, LIST, Buffer.alloc(0), metadata, () => null));
    return code === 'RESOURCE_EXHAUSTED' ? 429 : 401;
  },
};

describe.each(Object.keys(ways))('wrong tokens over %s', (name) => {
  const guess = (server: TestServer, caller: string) => ways[name]?.(server, caller);
  const digit = Object.keys(ways).indexOf(name) + 1;

  test('count for the address that a trusted proxy names', async () => {
    const [first, second] = [`192.0.2.${digit}`, `198.51.100.${digit}`];
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await guess(behind, first));
    expect(answers).toEqual([401, 401, 401, 429, 429]);
    expect(await guess(behind, second)).toBe(401);
    // What the caller itself wrote into the header comes first.
    expect(await guess(behind, `203.0.113.9, ${first}`)).toBe(429);
  });

  test('count for the connection where no proxy is trusted', async () => {
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await guess(direct, `192.0.2.${100 + n}`));
    expect(answers.at(-1)).toBe(429);
  });
});

test('events have the address of the caller', async () => {
  const addressOf = async (server: TestServer) => {
    const headers = { 'x-forwarded-for': '192.0.2.77' };
    await fetch(`${server.httpUrl}/api/v1/pool/list`, { headers });
    const find = () =>
      server.sql(`SELECT address FROM events WHERE kind = 'access' AND events::text LIKE '%pool/list%'`);
    return (await until(find, ({ length }) => length > 0))[0];
  };
  expect(await addressOf(behind)).toEqual({ address: '192.0.2.77' });
  expect(await addressOf(direct)).toEqual({ address: '127.0.0.1' });
});
