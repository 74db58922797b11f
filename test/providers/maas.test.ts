// @module-tag extended: redfish.test.ts and fake.test.ts pass the same contract; maas/onboarding.test.ts works with the simulator.
/** The MAAS provider, with a simulated MAAS, a real sshd for what is deployed, and a stand-in of a cluster. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import { createMaasProvider } from '../../src/providers/maas/maas-provider.ts';
import type {
  Capabilities,
  DeployedImages,
  Provider,
  UpstreamNetboot,
} from '../../src/providers/provider.ts';
import type { UpstreamMachine } from '../../src/providers/upstream.ts';
import { clustersOf, machineAt } from '../datacenter/site.ts';
import { ANY_ADDRESS } from '../parts/any-address.ts';
import { needs } from '../parts/debian-packages.ts';
import type { FaultInput } from '../parts/maas/faults.ts';
import { type MaasSimulator, startMaasSimulator } from '../parts/maas/simulator.ts';
import { createKey } from '../parts/sshd.ts';
import { until } from '../parts/until.ts';
import {
  type ConnectedSite,
  connectedCases,
  connectedSecrets,
  connectedSlow,
  connectedTroubles,
  openConnectedSite,
} from './connected-site.ts';
import { type Case, type Cases, describeProviderContract } from './contract.ts';

type MaasCapabilities = Capabilities & {
  readonly netboot: UpstreamNetboot;
  readonly imaging: DeployedImages;
};

const BMC_PASSWORD = 'contract-bmc-password';
const TOKEN = 'contract-agent-token-0123456789';
const programs = needs('sshd');

let connected: ConnectedSite;
let simulator: MaasSimulator;
let provider: Provider;
let denied: Provider;
let mac = '';
let id = '';
let macs = 0;
const folder = mkdtempSync(join(tmpdir(), 'ingot-maas-contract-'));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const can = () => provider.capabilities as MaasCapabilities;

/** One machine of that status, and no other of its addresses. */
const having =
  (status: string | null, fields: Readonly<Record<string, unknown>> = {}) =>
  async () => {
    await simulator.admin.clearFaults();
    mac = `52:54:00:02:00:${(++macs).toString(16).padStart(2, '0')}`;
    id = '';
    if (status === null) return;
    const added = { mac_addresses: [mac], status, power_type: 'ipmi', ...fields };
    id = (await simulator.admin.addMachine(added)).system_id;
  };

const machine = () => {
  const made = machineAt(connected.sshd.endpoint);
  const spec = { ...made.spec, provider: 'site-a', mac_addresses: [mac], bmc_endpoint: '10.0.0.7' };
  return { ...made, spec };
};

/** A case on the machine as the upstream has it. */
const on = (
  status: string,
  run: (seen: UpstreamMachine) => Case['run'],
  fields: Readonly<Record<string, unknown>> = {},
): Case => ({
  prepare: having(status, fields),
  run: async (call) => {
    const seen = await can().upstream.observe({ signal: new AbortController().signal }, id);
    if (!seen) throw new Error('the simulator has no such machine');
    return run(seen)(call);
  },
});

const DEPLOYMENT = { userData: `#cloud-config\ntoken: ${TOKEN}\n`, image: null };
const KEEP = { disks: 'keep', comment: 'contract' } as const;

const cases: Cases = {
  ...connectedCases(
    () => connected,
    () => can(),
  ),
  'power.bootState': { prepare: having('Deployed'), run: (call) => can().power.bootState(call) },
  'power.reboot': {
    prepare: having('Deployed'),
    // Of another boot than the host is in: the host compares, and does nothing.
    run: (call) => can().power.reboot(call, 'ssh', '00000000-0000-0000-0000-000000000000'),
    isInert: true,
  },
  'power.switchPower': {
    prepare: async () => {
      await having('Deployed')();
      await simulator.admin.changeMachine(id, { power: 'on' });
    },
    run: async (call) => can().power.switchPower?.(call, 'off'),
    settled: () => untilOff(),
  },
  'power.shutDown': {
    prepare: async () => {
      await having('Deployed')();
      await simulator.admin.changeMachine(id, { power: 'on' });
    },
    run: (call) => can().power.shutDown(call),
    settled: () => untilOff(),
  },
  'netboot.confirm': { prepare: having('Deployed'), run: (call) => can().netboot.confirm(call, 'disk', '') },
  'imaging.find': on('Ready', (seen) => (call) => can().imaging.find(call, seen, 'ubuntu/noble')),
  'upstream.find': { prepare: having('Ready'), run: (call) => can().upstream.find(call) },
  'upstream.findOnly': { prepare: having('Ready'), run: (call) => can().upstream.findOnly(call) },
  'upstream.observe': { prepare: having('Ready'), run: (call) => can().upstream.observe(call, id) },
  'upstream.list': { prepare: having('Ready'), run: (call) => can().upstream.list(call, [id]) },
  'upstream.listByAddress': {
    prepare: having('Ready'),
    run: (call) => can().upstream.listByAddress(call, [mac]),
  },
  'upstream.checkOwnership': on('Ready', (seen) => (call) => can().upstream.checkOwnership(call, seen)),
  'upstream.missingSettings': on('Ready', (seen) => (call) => can().upstream.missingSettings(call, seen)),
  'upstream.planStorage': on('Ready', (seen) => (call) => can().upstream.planStorage(call, seen)),
  'upstream.deploymentFailure': on(
    'Failed deployment',
    (seen) => (call) => can().upstream.deploymentFailure(call, seen),
  ),
  'upstream.markErasure': {
    prepare: having('Deployed'),
    run: (call) => can().upstream.markErasure(call, id),
  },
  'upstream.erasureProgress': {
    prepare: having('Ready'),
    run: (call) => can().upstream.erasureProgress(call, id, null),
  },
  'upstream.erasureReport': {
    prepare: having('Ready'),
    run: (call) => can().upstream.erasureReport(call, id, { mark: { event: 0, run: 0 }, wanted: 'keep' }),
  },
  'upstream.queryPower': { prepare: having('Ready'), run: (call) => can().upstream.queryPower(call, id) },
  'upstream.register': { prepare: having(null), run: (call) => can().upstream.register(call) },
  'upstream.applySettings': on('New', (seen) => (call) => can().upstream.applySettings(call, seen), {
    power_type: '',
  }),
  'upstream.remove': { prepare: having('Ready'), run: (call) => can().upstream.remove(call, id) },
  'upstream.commission': { prepare: having('New'), run: (call) => can().upstream.commission(call, id) },
  'upstream.acceptFailedTests': {
    prepare: having('Failed testing'),
    run: (call) => can().upstream.acceptFailedTests(call, id, 'contract'),
  },
  'upstream.applyStorage': {
    prepare: having('Ready'),
    run: async (call) => {
      const seen = await can().upstream.observe({ signal: new AbortController().signal }, id);
      const plan = seen && (await can().upstream.planStorage({ signal: new AbortController().signal }, seen));
      if (!plan || 'problem' in plan) throw new Error('the simulated machine has no boot disk');
      return can().upstream.applyStorage(call, id, plan.disk.id);
    },
  },
  'upstream.assignAddress': on('Ready', (seen) => (call) => can().upstream.assignAddress(call, seen)),
  'upstream.deploy': { prepare: having('Ready'), run: (call) => can().upstream.deploy(call, id, DEPLOYMENT) },
  'upstream.abort': {
    prepare: async () => {
      await having('New')();
      await can().upstream.commission(quietCall(), id);
    },
    run: (call) => can().upstream.abort(call, id, 'contract'),
  },
  'upstream.release': { prepare: having('Deployed'), run: (call) => can().upstream.release(call, id, KEEP) },
  'upstream.unblockRelease': {
    prepare: async () => {
      await having('Deployed')();
      await simulator.admin.changeMachine(id, { power: 'on', status: 'Disk erasing' });
    },
    run: async (call) => {
      const seen = await can().upstream.observe({ signal: new AbortController().signal }, id);
      if (seen?.status !== 'Disk erasing') return null;
      return can().upstream.unblockRelease(call, seen);
    },
  },
  'upstream.powerOff': {
    prepare: async () => {
      await having('Deployed')();
      await simulator.admin.changeMachine(id, { power: 'on' });
    },
    run: (call) => can().upstream.powerOff(call, id),
    settled: () => untilOff(),
  },
};

const quietCall = () => ({
  ...{ machine: machine(), key: 'op-0/work/1', step: 'work', fence: 1 },
  ...{ checkHeld: () => {}, signal: new AbortController().signal, log: () => {} },
});

async function untilOff(): Promise<void> {
  await until(async () => (await simulator.admin.machine(id)).power_state === 'off');
}

const faulty = (fault: FaultInput) => async () => {
  await simulator.admin.fault({ times: null, ...fault });
  return () => simulator.admin.clearFaults();
};

function providerWith(apiKey: string, keyFile: string, tokenFile: string): Provider {
  const { sshd, api } = connected;
  const configuration = maasConfiguration.parse({
    kind: 'maas',
    url: simulator.url,
    api_key_file: file(`api-key-${apiKey.length}`, `${apiKey}\n`),
    power: { type: 'ipmi', user: 'admin', password_file: file('bmc-password', `${BMC_PASSWORD}\n`) },
    request_timeout_seconds: 1,
    ssh: {
      user: sshd.user,
      private_key_file: keyFile,
      known_hosts_file: file('known-hosts', `${sshd.knownHostsLine}\n`),
      connect_timeout_seconds: 2,
    },
  });
  return createMaasProvider({
    ...{ name: 'site-a', configuration, now: Date.now, random: Math.random },
    monotonicNow: () => performance.now(),
    addresses: ANY_ADDRESS,
    credentials: new Map(),
    clusters: clustersOf(api, { token_file: tokenFile }),
    hostKeys: { read: async () => null },
    hostFiles: connected.host.files,
  });
}

describe.skipIf(programs.isMissing)(programs.title('maas'), () => {
  describeProviderContract('maas', Object.keys(cases), async () => {
    simulator = await startMaasSimulator({ speed: 1 });
    connected = await openConnectedSite();
    const { sshd, api } = connected;
    provider = providerWith(simulator.apiKey, sshd.keyFile, api.tokenFile);
    createKey(join(folder, 'stranger'), 'ed25519');
    denied = providerWith('a:wrong-api-token:key', join(folder, 'stranger'), file('reader', api.readerToken));
    const deniedCan = () => denied.capabilities as MaasCapabilities;
    await having('Ready')();
    return {
      provider,
      machine,
      cases,
      snapshot: async () => ({
        ...(connected.snapshot() as object),
        machines: (await simulator.admin.machines()).length,
        machine: id === '' ? null : await simulator.admin.machine(id).catch(() => 'gone'),
        address: id === '' ? null : (await can().upstream.observe(quietCall(), id))?.addressInterface,
      }),
      failures: [
        ...connectedTroubles(
          () => connected,
          deniedCan,
          () => can().remoteExec,
        ),
        {
          kind: 'refused',
          method: 'upstream.commission',
          arrange: async () => () => {},
          run: (call) => deniedCan().upstream.commission(call, id),
        },
        {
          kind: 'cut',
          method: 'upstream.commission',
          arrange: faulty({ fault: 'drop', method: 'POST', after_effect: true }),
        },
        {
          kind: 'cut',
          method: 'power.switchPower',
          arrange: faulty({ fault: 'drop', method: 'POST', after_effect: true }),
        },
        {
          kind: 'refused',
          method: 'upstream.deploy',
          // It repeats the whole request, with the token in it.
          arrange: faulty({ fault: 'echo', method: 'POST' }),
        },
        {
          kind: 'refused',
          method: 'upstream.register',
          arrange: faulty({ fault: 'echo', method: 'POST' }),
        },
        // The last one: after it the breaker of this MAAS is open for a while.
        { kind: 'unreachable', method: 'upstream.deploy', arrange: faulty({ fault: 'bad_gateway' }) },
      ],
      slow: [
        ...connectedSlow(
          () => connected,
          () => can().remoteExec,
        ),
        { method: 'upstream.deploy', arrange: faulty({ fault: 'slow', ms: 900 }) },
      ],
      secrets: [
        ...connectedSecrets(connected),
        ...simulator.apiKey.split(':').slice(1),
        BMC_PASSWORD,
        TOKEN,
        'wrong-api-token',
      ],
      close: async () => {
        await simulator.stop();
        await connected.close();
        rmSync(folder, { recursive: true, force: true });
        expect(macs).toBeGreaterThan(1);
      },
    };
  });
});
