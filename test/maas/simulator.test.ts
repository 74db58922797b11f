// @module-tag extended: onboarding.test.ts and the contract of test/providers/maas.test.ts work with the simulator.
/** The simulated MAAS itself: what becomes of its machines, its faults, and the agents of what it deployed. */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { MaasControl, MaasStatus } from '../../src/providers/maas/client/maas-control.ts';
import { isDatasourceFailure } from '../../src/providers/maas/deploy-failure.ts';
import { renderCloudInit } from '../../src/steps/upstream/cloud-init.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { until } from '../parts/until.ts';
import { callFor, maasAt, type TestMaas } from './call.ts';

const SPEED = 3000;
/** `npm run test:crashes` has five times as many. */
const CROWD = process.env.INGOT_LONG_TESTS === '1' ? 500 : 100;
const call = callFor();
let simulator: MaasSimulator;
let site: TestMaas;
let maas: MaasControl;
let lastMac = 0;

beforeAll(async () => {
  simulator = await startMaasSimulator({ speed: SPEED, minKeepaliveMs: 50 });
  site = maasAt(simulator);
  maas = site.maas;
});
afterAll(async () => {
  site.remove();
  await simulator.stop();
});
afterEach(() => simulator.admin.clearFaults());

const newMac = () => {
  lastMac++;
  return `52:54:00:04:${(lastMac >> 8).toString(16).padStart(2, '0')}:${(lastMac & 255).toString(16).padStart(2, '0')}`;
};

async function at(status: string): Promise<string> {
  return (await simulator.admin.addMachine({ mac_addresses: [newMac()], status, power_type: 'ipmi' }))
    .system_id;
}

const statusOf = async (id: string) => (await maas.read(call, id))?.status ?? 'absent';
const untilStatus = (id: string, status: MaasStatus | 'absent') =>
  until(
    () => statusOf(id),
    (seen) => seen === status,
  );

const deployment = (userData = '') => ({
  userData,
  osystem: 'ubuntu',
  distroSeries: 'noble',
  enableHardwareSync: false,
});

describe('machine faults', () => {
  it('commissioning fails once, and the next one is fine', async () => {
    const id = await at('New');
    await simulator.admin.fault({ fault: 'commissioning_failure', system_id: id });
    await maas.commission(call, id);
    await untilStatus(id, 'Failed commissioning');
    expect((await maas.read(call, id))?.statusMessage).toContain('cloud-init');
    await maas.commission(call, id);
    await untilStatus(id, 'Ready');
  });

  it('the datasource is not found as often as configured, and MAAS reports it in its own way', async () => {
    const id = await at('Ready');
    await simulator.admin.fault({ fault: 'datasource_failure', system_id: id, times: 2 });
    for (let time = 0; time < 2; time++) {
      await maas.deploy(call, id, deployment());
      await untilStatus(id, 'Failed deployment');
      const seen = await maas.read(call, id);
      expect(seen?.statusMessage).toBe("Node operation 'Deploying' timed out after 30 minutes.");
      expect(isDatasourceFailure(await maas.events(call, id, 50))).toBe(true);
      await maas.release(call, id, { erase: false, secureErase: false, quickErase: false, comment: '' });
      await untilStatus(id, 'Ready');
    }
    await maas.deploy(call, id, deployment());
    await untilStatus(id, 'Deployed');
  });

  it('a deployment that fails otherwise is distinguished', async () => {
    const id = await at('Ready');
    await simulator.admin.fault({ fault: 'deployment_failure', system_id: id });
    await maas.deploy(call, id, deployment());
    await untilStatus(id, 'Failed deployment');
    expect(isDatasourceFailure(await maas.events(call, id, 50))).toBe(false);
  });

  it.each(['Commissioning', 'Deploying'])('a machine is deleted while it is %s', async (during) => {
    const id = await at('New');
    await simulator.admin.fault({ fault: 'deleted_midway', system_id: id, during });
    await maas.commission(call, id);
    if (during === 'Deploying') {
      await untilStatus(id, 'Ready');
      await maas.deploy(call, id, deployment());
    }
    await untilStatus(id, 'absent');
  });

  it('a release fails, or the erasing before it', async () => {
    const [erased, released] = [await at('Deployed'), await at('Deployed')];
    await simulator.admin.fault({ fault: 'erase_failure', system_id: erased });
    await simulator.admin.fault({ fault: 'release_failure', system_id: released });
    const release = { secureErase: false, quickErase: true, comment: '' };
    await maas.release(call, erased, { ...release, erase: true });
    await maas.release(call, released, { ...release, erase: false });
    await untilStatus(erased, 'Failed disk erasing');
    await untilStatus(released, 'Releasing failed');
    await maas.release(call, erased, { ...release, erase: true });
    await untilStatus(erased, 'Ready');
  });

  it('are meant for a machine by its address before there is one, and are used up', async () => {
    const mac = newMac();
    await simulator.admin.fault({ fault: 'commissioning_failure', mac: mac.toUpperCase() });
    const other = await at('New');
    await maas.commission(call, other);
    await untilStatus(other, 'Ready');
    expect(await simulator.admin.faults()).toMatchObject([{ fault: 'commissioning_failure', left: 1 }]);
    const { system_id: id } = await simulator.admin.addMachine({ mac_addresses: [mac], power_type: 'ipmi' });
    await maas.commission(call, id);
    await untilStatus(id, 'Failed commissioning');
    expect(await simulator.admin.faults()).toEqual([]);
  });
});

describe('the API', () => {
  it('takes forms as multipart too, and insists on the slash at the end', async () => {
    const id = await at('New');
    const [consumer, token, secret] = simulator.apiKey.split(':');
    const authorization = `OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="${consumer}", oauth_token="${token}", oauth_signature="%26${secret}", oauth_nonce="1", oauth_timestamp="1"`;
    const body = new FormData();
    body.append('op', 'commission');
    const post = (path: string) =>
      fetch(`${simulator.url}/api/2.0/${path}`, { method: 'POST', body, headers: { authorization } });
    expect((await post(`machines/${id}`)).status).toBe(404);
    expect(await (await post(`machines/${id}/`)).json()).toMatchObject({
      status: 1,
      status_name: 'Commissioning',
    });
    expect((await fetch(`${simulator.url}/api/2.0/machines/`)).status).toBe(401);
  });
});

/** As much of Ingot as agents see. */
class FakeIngot {
  readonly calls: { path: string; token: string; body: Record<string, unknown> }[] = [];
  /** For how many calls it answers this status. */
  refusing = { status: 500, times: 0 };
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      readText(request).then((text) => {
        const token = request.headers.authorization ?? '';
        this.calls.push({ path: request.url ?? '', token, body: JSON.parse(text) });
        response.statusCode = this.refusing.times-- > 0 ? this.refusing.status : 200;
        response.end('{}');
      });
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  countOf(path: string, machineId: string): number {
    return this.calls.filter((one) => one.path.endsWith(path) && one.body.machine_id === machineId).length;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

describe('agents', () => {
  let ingot: FakeIngot;
  let server: string;
  beforeAll(async () => {
    ingot = new FakeIngot();
    server = await ingot.start();
  });
  afterAll(() => ingot.stop());

  const userDataFor = (machineId: string) =>
    renderCloudInit('#cloud-config\npackages: [jq]\nwrite_files:\n  - {path: /etc/motd, content: hello}\n', {
      agent: { server, machineId, pool: 'gpu', provider: 'site-a', token: `token-of-${machineId}` },
      ssh: null,
    });

  async function deployed(machineId: string): Promise<string> {
    const id = await at('Ready');
    await maas.deploy(call, id, deployment(userDataFor(machineId)));
    await untilStatus(id, 'Deployed');
    return id;
  }

  const keepsAlive = async (machineId: string) => {
    const before = ingot.countOf('/keepalive', machineId);
    await expect.poll(() => ingot.countOf('/keepalive', machineId)).toBeGreaterThan(before + 1);
  };
  const isSilent = async (machineId: string) => {
    await sleep(100);
    const before = ingot.countOf('', machineId);
    await sleep(200);
    expect(ingot.countOf('', machineId)).toBe(before);
  };

  it('register with what the user data says, and keep alive until they are switched off or released', async () => {
    const id = await deployed('0000000a');
    await keepsAlive('0000000a');
    expect(ingot.calls.find(({ body }) => body.machine_id === '0000000a')).toMatchObject({
      path: '/api/v1/machine/register',
      token: 'Bearer token-of-0000000a',
      body: { pool_name: 'gpu', provider_name: 'site-a', token: 'token-of-0000000a', gpu_count: '8' },
    });
    expect((await simulator.admin.machine(id)).agent).toMatchObject({ state: 'enrolled', registrations: 1 });
    await maas.powerOff(call, id);
    await untilStatus(id, 'Deployed');
    await expect.poll(async () => (await maas.read(call, id))?.power).toBe('off');
    await isSilent('0000000a');
    await maas.powerOn(call, id);
    await keepsAlive('0000000a');
    await maas.release(call, id, { erase: false, secureErase: false, quickErase: false, comment: '' });
    await isSilent('0000000a');
  });

  it('register again where Ingot has forgotten them', async () => {
    const id = await deployed('0000000b');
    await keepsAlive('0000000b');
    ingot.refusing = { status: 500, times: 1 };
    await expect.poll(() => ingot.countOf('/register', '0000000b'), { timeout: 5_000 }).toBe(2);
    await simulator.admin.removeMachine(id);
    await isSilent('0000000b');
  });

  it('never enrol where that is the fault', async () => {
    await simulator.admin.fault({ fault: 'agent_never_enrols', times: null });
    await deployed('0000000c');
    await isSilent('0000000c');
    expect(ingot.countOf('', '0000000c')).toBe(0);
  });

  it(`of ${CROWD} machines that are deployed at once all enrol`, async () => {
    const crowded = await startMaasSimulator({ speed: 600 });
    const its = maasAt(crowded, {
      concurrency: 16,
      queue_timeout_seconds: 60,
      request_timeout_seconds: 60,
    });
    const ids = Array.from({ length: CROWD }, (_, index) => (0x1000 + index).toString(16).padStart(8, '0'));
    await Promise.all(
      ids.map(async (machineId) => {
        const mac_addresses = [newMac()];
        const { system_id: id } = await crowded.admin.addMachine({ mac_addresses, status: 'Ready' });
        await its.maas.deploy(call, id, deployment(userDataFor(machineId)));
      }),
    );
    const alive = () =>
      new Set(
        ingot.calls.filter(({ path }) => path.endsWith('/keepalive')).map(({ body }) => body.machine_id),
      );
    await expect
      .poll(
        () => {
          const current = alive();
          return ids.filter((machineId) => current.has(machineId)).length;
        },
        { timeout: 25_000, interval: 500 },
      )
      .toBe(CROWD);
    its.remove();
    await crowded.stop();
  }, 60_000);
});
