// @module-tag extended: client.test.ts has the errors of an upstream; strict-maas.test.ts a MAAS that refuses.
/** What happens on the way to MAAS and back: refusals, faults, slowness, silence, and what is sent again. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Outage } from '../../src/engine/outage.ts';
import { StepFailure } from '../../src/engine/step-handler.ts';
import type { FaultInput } from '../parts/maas/faults.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { callFor, failureOf, maasAt, type TestMaas } from './call.ts';

let simulator: MaasSimulator;
let site: TestMaas;
const call = callFor();
const DEPLOYMENT = {
  userData: '#cloud-config\n{}\n',
  osystem: 'ubuntu',
  distroSeries: 'noble',
  enableHardwareSync: false,
} as const;

beforeAll(async () => {
  simulator = await startMaasSimulator({ speed: 1 });
});
afterAll(() => simulator.stop());
beforeEach(async () => {
  await simulator.admin.clearFaults();
  site = maasAt(simulator, { request_timeout_seconds: 1.5 });
});
afterEach(() => site.remove());

const fault = (given: FaultInput) => simulator.admin.fault(given);
let lastMac = 0;
async function ready(): Promise<string> {
  const mac = `52:54:00:01:00:${(++lastMac).toString(16).padStart(2, '0')}`;
  return (await simulator.admin.addMachine({ mac_addresses: [mac], status: 'Ready' })).system_id;
}

/** What MAAS was asked while the work was done. */
async function during(work: () => Promise<unknown>) {
  const before = (await simulator.admin.requests()).length;
  await work();
  return (await simulator.admin.requests()).slice(before);
}

async function msOf(work: Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work.catch(() => {});
  return performance.now() - start;
}

describe('a read', () => {
  it.each<FaultInput>([
    { fault: 'error', times: 2 },
    { fault: 'bad_gateway', times: 2 },
    { fault: 'drop', times: 2 },
    { fault: 'truncate', times: 2 },
    { fault: 'truncate_quietly', times: 2 },
    { fault: 'conflict', retry_after: 0, times: 2 },
    { fault: 'unavailable', times: 2 },
  ])('that meets $fault twice is sent three times', async (given) => {
    const id = await ready();
    await fault(given);
    const asked = await during(async () => {
      expect(await site.maas.read(call, id)).toMatchObject({ systemId: id });
    });
    expect(asked.map(({ status }) => status)).toEqual([0, 0, 200]);
  });

  it.each<[FaultInput, string]>([
    [{ fault: 'error' }, 'MAAS_UNAVAILABLE'],
    [{ fault: 'truncate' }, 'MAAS_ANSWER_LOST'],
    [{ fault: 'truncate_quietly' }, 'MAAS_ANSWER_UNREADABLE'],
    [{ fault: 'drop' }, 'MAAS_ANSWER_LOST'],
    [{ fault: 'unavailable' }, 'MAAS_UNAVAILABLE'],
  ])('that meets %o forever is retryable, after three', async (given, code) => {
    const id = await ready();
    await fault({ ...given, times: null });
    const asked = await during(async () => {
      expect(await failureOf(site.maas.read(call, id))).toMatchObject({ class: 'retryable', code });
    });
    expect(asked).toHaveLength(3);
  });

  it('waits as long as MAAS asks it to', async () => {
    const id = await ready();
    await fault({ fault: 'unavailable', retry_after: 1 });
    expect(await msOf(site.maas.read(call, id))).toBeGreaterThan(1_000);
  });

  it('leaves the waiting to the engine where MAAS asks for too much of it', async () => {
    const id = await ready();
    await fault({ fault: 'unavailable', retry_after: 600 });
    const asked = await during(async () => {
      expect(await failureOf(site.maas.read(call, id))).toMatchObject({ class: 'retryable' });
    });
    expect(asked).toHaveLength(1);
  });

  it('that is answered too late is retryable, and not sent again', async () => {
    const id = await ready();
    await fault({ fault: 'slow', ms: 25_000 });
    const start = performance.now();
    const failure = await failureOf(site.maas.read(call, id));
    expect(failure).toMatchObject({ class: 'retryable', code: 'MAAS_UNAVAILABLE' });
    expect(failure.message).toContain('did not answer in time');
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it('does not follow MAAS elsewhere, where our key would go along', async () => {
    await fault({ fault: 'redirect' });
    const failure = await failureOf(site.maas.read(call, await ready()));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_REFUSED' });
  });

  it('stops reading an answer that has no end', async () => {
    site.remove();
    site = maasAt(simulator);
    await fault({ fault: 'flood' });
    expect(await failureOf(site.maas.read(call, await ready()))).toMatchObject({
      class: 'needs_human',
      code: 'MAAS_ANSWER_TOO_LARGE',
    });
  });

  it('ends at once with its caller', async () => {
    await fault({ fault: 'slow', ms: 1_400 });
    const stop = new AbortController();
    const reading = site.maas.read(callFor({ signal: stop.signal }), await ready());
    setTimeout(() => stop.abort(new Error('stopped')), 50);
    const start = performance.now();
    await expect(reading).rejects.toThrow('stopped');
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

describe('a write', () => {
  it.each<FaultInput>([{ fault: 'conflict', retry_after: 0, times: 2 }])(
    'that met another request ($fault) is sent again',
    async (given) => {
      const id = await ready();
      await fault({ ...given, method: 'POST' });
      const asked = await during(() => site.maas.commission(call, id));
      expect(asked.map(({ op, status }) => `${op} ${status}`)).toEqual([
        'commission 0',
        'commission 0',
        'commission 200',
      ]);
    },
  );

  it.each<[FaultInput, Partial<Outage>]>([
    [{ fault: 'unavailable' }, { effect: 'none' }],
    [
      { fault: 'unavailable', retry_after: 30 },
      { effect: 'none', retryAfterMs: 30_000 },
    ],
    [{ fault: 'bad_gateway' }, { effect: 'unknown' }],
    [{ fault: 'drop' }, { effect: 'unknown' }],
  ])(
    'that MAAS does not answer (%o) is sent once: the engine waits, and spaces what it repeats',
    async (given, outage) => {
      const id = await ready();
      await fault({ ...given, method: 'POST', times: null });
      const asked = await during(async () => {
        const error = await site.maas.powerOff(call, id).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(StepFailure);
        expect((error as StepFailure).outage).toMatchObject({ upstream: 'MAAS', ...outage });
      });
      expect(asked).toHaveLength(1);
    },
  );

  it('in conflict is sent once more where MAAS says nothing about when', async () => {
    const id = await ready();
    await fault({ fault: 'conflict', method: 'POST', times: null });
    const asked = await during(async () => {
      expect(await failureOf(site.maas.commission(call, id))).toMatchObject({
        class: 'retryable',
        code: 'MAAS_CONFLICT',
      });
    });
    expect(asked).toHaveLength(2);
  });

  it.each<[FaultInput, string]>([
    [{ fault: 'drop', after_effect: true }, 'MAAS_ANSWER_LOST'],
    [{ fault: 'truncate', after_effect: true }, 'MAAS_ANSWER_LOST'],
    [{ fault: 'error', after_effect: true }, 'MAAS_UNAVAILABLE'],
  ])('whose answer is lost (%o) is never sent again; its effect can be observed', async (given, code) => {
    const id = await ready();
    await fault({ ...given, method: 'POST', times: null });
    const asked = await during(async () => {
      expect(await failureOf(site.maas.deploy(call, id, DEPLOYMENT))).toMatchObject({
        class: 'retryable',
        code,
      });
    });
    // Whose the machine is was read before.
    expect(asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect((await site.maas.read(call, id))?.status).toBe('Deploying');
  });

  it('does not leave when its operation is not ours any more', async () => {
    const id = await ready();
    const checkHeld = () => {
      throw new Error('the lease is gone');
    };
    const asked = await during(async () => {
      await expect(site.maas.commission(callFor({ checkHeld }), id)).rejects.toThrow('the lease is gone');
    });
    expect(asked).toEqual([]);
    // A refusal of ours says nothing about MAAS.
    for (let time = 0; time < 5; time++)
      await site.maas.commission(callFor({ checkHeld }), id).catch(() => {});
    expect(await site.maas.read(call, id)).toMatchObject({ status: 'Ready' });
  });
});

describe('our key', () => {
  it('is in the header, as OAuth 1.0a wants it, and in no URL', async () => {
    const { server, url, requests } = await rawServer((_request, response) => response.end('[]'));
    const raw = maasAt({ url, apiKey: 'consumer-1:token+2:se&cret' });
    await raw.maas.findByMac(call, ['52:54:00:00:00:01']);
    await raw.maas.findByMac(call, ['52:54:00:00:00:01']);
    const [first, second] = requests;
    const header = first?.headers.authorization ?? '';
    expect(header).toMatch(/^OAuth oauth_version="1.0", /);
    expect(header).toContain('oauth_signature_method="PLAINTEXT"');
    expect(header).toContain('oauth_consumer_key="consumer-1"');
    expect(header).toContain('oauth_token="token%2B2"');
    expect(header).toContain('oauth_signature="%26se%26cret"');
    expect(header).toMatch(/oauth_timestamp="\d{10}"/);
    expect(header).toMatch(/oauth_nonce="[^"]{16,}"/);
    expect(second?.headers.authorization).not.toBe(header);
    expect(first?.url).toBe('/MAAS/api/2.0/machines/?mac_address=52%3A54%3A00%3A00%3A00%3A01');
    raw.remove();
    await closed(server);
  });

  it('that MAAS does not know needs a human', async () => {
    const stranger = maasAt({ url: simulator.url, apiKey: 'some:body:else' });
    const failure = await failureOf(stranger.maas.findByMac(call, ['52:54:00:00:00:01']));
    expect(failure).toMatchObject({ class: 'needs_human', code: 'MAAS_UNAUTHORIZED' });
    stranger.remove();
  });

  it('is read again for every request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ingot-maas-key-'));
    const file = join(folder, 'key');
    writeFileSync(file, 'some:body:else');
    const moving = maasAt(simulator, { api_key_file: file });
    const read = () => moving.maas.findByMac(call, ['52:54:00:00:00:01']);
    expect(await failureOf(read())).toMatchObject({ code: 'MAAS_UNAUTHORIZED' });
    writeFileSync(file, simulator.apiKey);
    await read();
    rmSync(file);
    expect(await failureOf(read())).toMatchObject({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE' });
    rmSync(folder, { recursive: true });
    moving.remove();
  });
});

describe('many requests', () => {
  it('are under way only so many at once, the others in order', async () => {
    let underWay = 0;
    let most = 0;
    const { server, url } = await rawServer(async (_request, response) => {
      most = Math.max(most, ++underWay);
      await sleep(20);
      underWay--;
      response.end('[]');
    });
    const raw = maasAt({ url, apiKey: 'a:b:c' }, { concurrency: 4 });
    await Promise.all(Array.from({ length: 40 }, () => raw.maas.findByMac(call, ['52:54:00:00:00:01'])));
    expect(most).toBe(4);
    raw.remove();
    await closed(server);
  });

  it('do not wait forever for their turn', async () => {
    const { server, url } = await rawServer(async (_request, response) => {
      await sleep(400);
      response.end('[]');
    });
    const raw = maasAt({ url, apiKey: 'a:b:c' }, { concurrency: 1, queue_timeout_seconds: 0.1 });
    const read = () => raw.maas.findByMac(call, ['52:54:00:00:00:01']);
    const first = read();
    expect(await failureOf(read())).toMatchObject({ class: 'retryable', code: 'MAAS_BUSY' });
    await first;
    raw.remove();
    await closed(server);
  });
});

describe('a MAAS that does not answer', () => {
  it('is left alone after three requests, tried again, and taken back', async () => {
    const frozen = await startMaasSimulator();
    onTestFinished(() => frozen.stop());
    const its = maasAt(frozen, { request_timeout_seconds: 0.5 });
    const read = () => its.maas.findByMac(call, ['52:54:00:00:00:01']);
    await expect.poll(() => read().then(() => 'well'), { timeout: 8_000 }).toBe('well');
    frozen.freeze();
    expect(await msOf(Promise.allSettled([read(), read(), read()]))).toBeGreaterThan(400);
    const failure = await failureOf(read());
    expect(failure).toMatchObject({ class: 'retryable', code: 'MAAS_UNAVAILABLE' });
    expect(failure.message).toMatch(/has not answered 3 times in a row; it is asked again in \d s/);
    // Each of them would have waited 500 ms, eight at a time.
    expect(await msOf(Promise.allSettled(Array.from({ length: 500 }, read)))).toBeLessThan(3_000);
    frozen.thaw();
    await expect.poll(() => read().then(() => 'well'), { timeout: 8_000, interval: 100 }).toBe('well');
    its.remove();
  });

  it('hurts its own machines alone', async () => {
    const dying = await startMaasSimulator();
    onTestFinished(() => dying.stop());
    const its = maasAt(dying, { request_timeout_seconds: 1, concurrency: 2 });
    dying.freeze();
    const hung = Array.from({ length: 200 }, () => its.maas.findByMac(call, ['52:54:00:00:00:01']));
    const id = await ready();
    const start = performance.now();
    for (let time = 0; time < 20; time++) await site.maas.read(call, id);
    const well = performance.now() - start;
    const ends = await Promise.allSettled(hung);
    expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
    // No call waited behind all the others, which would take 100 s: two rounds of the limit, and all were refused.
    const all = performance.now() - start;
    expect(all).toBeLessThan(20_000);
    expect(well).toBeLessThan(all);
    its.remove();
  });

  it('is unreachable when it is gone', async () => {
    const gone = await startMaasSimulator();
    onTestFinished(() => gone.stop());
    const its = maasAt(gone);
    await gone.kill();
    const failure = await failureOf(its.maas.findByMac(call, ['52:54:00:00:00:01']));
    expect(failure).toMatchObject({ class: 'retryable', code: 'MAAS_UNAVAILABLE' });
    its.remove();
  });

  it('about its BMCs does not open the breaker: the BMCs are slow, not MAAS', async () => {
    const id = await ready();
    site.remove();
    site = maasAt(simulator, { power_query_timeout_seconds: 0.1 });
    await fault({ fault: 'slow', ms: 300, op: 'query_power_state', times: null });
    for (let time = 0; time < 4; time++) {
      expect(await failureOf(site.maas.queryPower(call, id))).toMatchObject({ class: 'retryable' });
    }
    expect(await site.maas.read(call, id)).not.toBeNull();
  });
});

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

async function rawServer(answer: Answer) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${port}/MAAS`, requests };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
