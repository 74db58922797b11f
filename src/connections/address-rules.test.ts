import type { lookup } from 'node:dns';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type AddressRule,
  type AddressRuleOptions,
  addressForOther,
  allowedAddress,
  allowedAgent,
  createAddressRules,
} from './address-rules.ts';
import { exchange } from './http-exchange.ts';
import { openTcp } from './tcp.ts';

const METADATA = '169.254.169.254';

/** Each name has the answers of its list, one after the other; the last one stays. */
function answering(names: Readonly<Record<string, readonly string[]>>): {
  resolve: typeof lookup;
  asked: string[];
} {
  const asked: string[] = [];
  const resolve = (
    name: string,
    _options: unknown,
    done: (error: Error | null, found: unknown[]) => void,
  ) => {
    const answers = names[name] ?? [];
    const turn = asked.filter((one) => one === name).length;
    asked.push(name);
    const text = answers[Math.min(turn, answers.length - 1)];
    if (text === undefined) return done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    done(
      null,
      text.split(' ').map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { resolve: resolve as unknown as typeof lookup, asked };
}

function rules(options: Partial<AddressRuleOptions> = {}) {
  return createAddressRules({ allowedNetworks: null, loopback: 'allowed', ...options });
}

let server: Server;
let port: number;
let requests: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(302, { location: `http://${METADATA}/latest/meta-data/` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const limits = () => ({ timeoutMs: 2_000, signal: new AbortController().signal });
const open = (host: string, rule: AddressRule) =>
  openTcp({ host, port }, limits(), rule).then((socket) => {
    socket.destroy();
    return 'connected';
  });

function get(host: string, rule: AddressRule) {
  const url = new URL(`http://${host}:${port}/`);
  return exchange({
    ...{ method: 'GET', url, headers: {}, body: null, limitMs: 2_000, maxAnswerBytes: 1_000 },
    agent: allowedAgent(url, rule, { keepAlive: false }),
    signal: new AbortController().signal,
    beforeSending: () => {},
  });
}

describe('a connection', () => {
  it.each([
    METADATA,
    '::ffff:169.254.169.254',
    'fe80::1',
    '224.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '::ffff:0:a9fe:a9fe',
    '2001:0:a9fe:a9fe::1',
  ])('to %s is refused, also where every network is allowed', async (host) => {
    const wide = rules({ allowedNetworks: ['0.0.0.0/0', '::/0'] });
    for (const rule of [wide.machines, wide.hooks, wide.servers, rules().servers])
      await expect(open(host, rule)).rejects.toMatchObject({ failure: { code: 'ADDRESS_NOT_ALLOWED' } });
  });

  it('by name goes to the address that was checked, and is refused once the answer has changed', async () => {
    const { resolve, asked } = answering({ 'bmc.example': ['127.0.0.1', METADATA] });
    const { machines } = rules({ resolve });
    expect(await open('bmc.example', machines)).toBe('connected');
    await expect(open('bmc.example', machines)).rejects.toThrow(
      `bmc.example (${METADATA}) is the metadata address of clouds, which is never connected to`,
    );
    expect(asked).toEqual(['bmc.example', 'bmc.example']);
  });

  it('uses those answers that are allowed', async () => {
    const { resolve } = answering({ both: [`${METADATA} 127.0.0.1`] });
    expect(await open('both', rules({ resolve }).machines)).toBe('connected');
  });

  it('to a name that does not exist says so', async () => {
    await expect(
      open('none.example', rules({ resolve: answering({}).resolve }).machines),
    ).rejects.toMatchObject({
      reason: 'NameNotFound',
    });
  });
});

describe('an address that another host connects to', () => {
  const names = { bmc: ['10.9.9.9', METADATA], outside: ['192.0.2.1'], 'metadata.example': [METADATA] };
  const limited = (networks: readonly string[] | null) =>
    rules({ allowedNetworks: networks, resolve: answering(names).resolve }).machines;

  it('is the one that was checked, never the name', async () => {
    const rule = limited(null);
    expect(await addressForOther('bmc', rule)).toBe('10.9.9.9');
    await expect(addressForOther('bmc', rule)).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' });
    await expect(addressForOther('metadata.example', rule)).rejects.toThrow('never connected to');
    expect(await addressForOther('10.1.2.3', rule)).toBe('10.1.2.3');
  });

  it('is refused where it is not in allowed_networks, and where its name is not known here', async () => {
    const rule = limited(['10.0.0.0/8']);
    expect(await addressForOther('bmc', rule)).toBe('10.9.9.9');
    await expect(addressForOther('outside', rule)).rejects.toThrow('allowed_networks');
    await expect(addressForOther('only-there', rule)).rejects.toThrow('only-there is not known here');
    // Without allowed_networks, the other host is asked.
    expect(await addressForOther('only-there', limited(null))).toBe('only-there');
  });
});

describe('a request over HTTP', () => {
  it('never follows a redirect, and would be refused at its target', async () => {
    requests = [];
    const { hooks } = rules();
    const answer = await get('127.0.0.1', hooks);
    expect([answer.status, requests]).toEqual([302, ['/']]);
    await expect(get(METADATA, hooks)).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' });
  });

  it('checks each connection of an agent that a client with redirects of its own uses', async () => {
    const { resolve } = answering({ 'hook.example': ['127.0.0.1', METADATA] });
    const { hooks } = rules({ resolve });
    expect((await get('hook.example', hooks)).status).toBe(302);
    await expect(get('hook.example', hooks)).rejects.toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' });
    expect(requests.filter((path) => path.includes('meta-data'))).toEqual([]);
  });
});

describe('allowed_networks', () => {
  const given = { allowedNetworks: ['10.0.0.0/8', 'fd12::/16'] };

  it('limits machines and hooks, not the servers of the configuration', () => {
    const { machines, hooks, servers } = rules(given);
    for (const rule of [machines, hooks]) {
      expect(() => rule.check('10.1.2.3')).not.toThrow();
      expect(() => rule.check('fd12::5')).not.toThrow();
      expect(() => rule.check('192.0.2.1')).toThrow('192.0.2.1 is not in allowed_networks');
      expect(() => rule.check('127.0.0.1')).toThrow('is not in allowed_networks');
      expect(() => rule.check('::ffff:192.0.2.1')).toThrow('is not in allowed_networks');
    }
    expect(() => servers.check('192.0.2.1')).not.toThrow();
  });

  it('counts for what a name leads to', async () => {
    const { resolve } = answering({ inside: ['10.9.9.9'], outside: ['192.0.2.1'] });
    const { machines } = rules({ ...given, resolve });
    expect(await allowedAddress('inside', machines)).toBe('10.9.9.9');
    await expect(allowedAddress('outside', machines)).rejects.toThrow(
      'outside (192.0.2.1) is not in allowed_networks',
    );
  });

  it('must name loopback where other hosts can reach the server', () => {
    const closed = rules({ loopback: 'only if named' });
    for (const host of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '2130706433'])
      expect(() => closed.machines.check(host)).toThrow('loopback');
    expect(() => closed.hooks.check('127.0.0.1')).not.toThrow();
    const named = rules({ loopback: 'only if named', allowedNetworks: ['127.0.0.0/8'] });
    expect(() => named.machines.check('127.0.0.1')).not.toThrow();
  });
});
