import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { StepFailure } from '../../src/engine/step-handler.ts';
import { testAuthority } from '../parts/certificates.ts';
import type { RedfishFault } from '../parts/redfish/redfish-fault.ts';
import { RedfishSimulator, type RedfishSimulatorOptions } from '../parts/redfish/simulator.ts';
import { VENDOR_NAMES, type VendorName } from '../parts/redfish/vendor-shape.ts';
import { until } from '../parts/until.ts';
import { machineWith, unusedKey } from './bmc-site.ts';
import { callFor, createSite, failureOf, type RecordedCall, type Site } from './site.ts';

const authority = testAuthority();
const certificate = authority.issue({ name: 'bmc', names: ['127.0.0.1'], purpose: 'server' });
const folder = mkdtempSync(join(tmpdir(), 'ingot-redfish-'));
const key = unusedKey();
const PASSWORD = 'correct-horse-battery-staple-longer-than-ipmi';
const { signal } = new AbortController();

const bmcs: RedfishSimulator[] = [];
const sites: Site[] = [];
const clock = { ms: 0 };

beforeAll(() => writeFileSync(join(folder, 'password'), `${PASSWORD}\n`));
afterEach(async () => {
  for (const site of sites.splice(0)) {
    await site.provider.stop?.();
    site.remove();
  }
  for (const bmc of bmcs.splice(0)) await bmc.stop();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  authority.remove();
  key.remove();
});

async function startBmc(
  vendor: VendorName = 'standard',
  options: Partial<RedfishSimulatorOptions> = {},
): Promise<RedfishSimulator> {
  const bmc = await RedfishSimulator.start({ vendor, tls: certificate, password: PASSWORD, ...options });
  bmcs.push(bmc);
  return bmc;
}

function siteWith(fields: Readonly<Record<string, unknown>> = {}): Site {
  const site = createSite(
    { user: 'root', keyFile: key.file, knownHostsLine: '# no host' },
    {
      bmc: {
        user: 'root',
        password_file: join(folder, 'password'),
        timeout_seconds: 2,
        redfish: { ca_file: authority.caFile },
        ...fields,
      },
      monotonicNow: () => clock.ms,
    },
  );
  sites.push(site);
  return site;
}

const machineOf = (bmc: RedfishSimulator, path = ''): Machine => machineWith(`${bmc.url}${path}`);
const linesOf = ({ lines }: RecordedCall) => lines.map(({ text }) => text);

describe.each(VENDOR_NAMES.filter((name) => name !== 'old-firmware'))('a BMC as of %s', (vendor) => {
  it('is switched on and off, by what it offers, and to what it is without harm', async () => {
    const bmc = await startBmc(vendor);
    const { power } = siteWith().can;
    const machine = machineOf(bmc);
    for (const to of ['on', 'on', 'off', 'off'] as const) {
      await power.switchPower?.(callFor(machine), to);
      expect(await power.bootState(callFor(machine))).toMatchObject({ power: to });
    }
    expect(bmc.system.resets).toEqual(['On', 'ForceOff']);
  });

  it('boots from what was set, once, in the mode that it had', async () => {
    const bmc = await startBmc(vendor);
    const { power, netboot } = siteWith().can;
    const machine = machineOf(bmc);
    const call = callFor(machine);
    await netboot.setBootDevice(call, 'pxe', '');
    expect(await netboot.bootDevice(callFor(machine))).toMatchObject({ device: 'pxe', pending: false });
    expect(linesOf(call)).toContain('The BMC says: next boot from pxe');
    await power.switchPower?.(callFor(machine), 'on');
    expect(bmc.system.boots).toEqual(['Pxe']);
    expect(bmc.system.boot.mode).toBe('UEFI');
    expect(await netboot.bootDevice(callFor(machine))).toMatchObject({ device: 'none' });
    await netboot.setBootDevice(callFor(machine), 'disk', '');
    expect(await netboot.bootDevice(callFor(machine))).toMatchObject({ device: 'disk' });
  });

  it('is asked by one caller at a time, in one session, which is ended', async () => {
    const bmc = await startBmc(vendor, { maxSessions: 1 });
    const site = siteWith();
    const machine = machineOf(bmc);
    const { power, inspect } = site.can;
    await Promise.all([
      power.bootState(callFor(machine)),
      power.switchPower?.(callFor(machine), 'on'),
      power.bootState(callFor(machine)),
    ]);
    await inspect.bmc(machine, signal);
    expect(bmc.mostAtOnce).toBe(1);
    expect(bmc.mostSessions).toBe(bmc.shape.hasSessions ? 1 : 0);
    await site.provider.stop?.();
    expect(bmc.sessions.size).toBe(0);
  });
});

describe('power over Redfish', () => {
  it('is what the machine has reached, not what it was asked for', async () => {
    const bmc = await startBmc('standard', { settleMs: 300 });
    const { power } = siteWith().can;
    const machine = machineOf(bmc);
    await power.switchPower?.(callFor(machine), 'on');
    expect(await power.bootState(callFor(machine))).toMatchObject({ power: 'off' });
    await until(async () => (await power.bootState(callFor(machine))).power === 'on');
    await power.switchPower?.(callFor(machine), 'off');
    expect(await power.bootState(callFor(machine))).toMatchObject({ power: 'on' });
    await until(async () => (await power.bootState(callFor(machine))).power === 'off');
  });

  it('says which reset was chosen, and from which', async () => {
    const bmc = await startBmc('openbmc');
    bmc.system.power = 'On';
    const call = callFor(machineOf(bmc));
    await siteWith().can.power.shutDown(call);
    expect(bmc.system.resets).toEqual(['GracefulShutdown']);
    expect(linesOf(call)[0]).toContain('Sending the reset GracefulShutdown over Redfish (offered: On,');
  });

  it('takes the next reset where the first is not offered, and none that would do something else', async () => {
    const bmc = await startBmc();
    bmc.system.power = 'On';
    const { power } = siteWith().can;
    bmc.shape = { ...bmc.shape, resets: ['PushPowerButton', 'On'] };
    await power.shutDown(callFor(machineOf(bmc)));
    expect(bmc.system.resets).toEqual(['PushPowerButton']);
    bmc.system.power = 'On';
    bmc.shape = { ...bmc.shape, resets: ['On', 'ForceRestart'] };
    expect(
      await failureOf(power.switchPower?.(callFor(machineOf(bmc)), 'off') ?? Promise.resolve()),
    ).toMatchObject({
      class: 'permanent',
      code: 'REDFISH_NOT_OFFERED',
    });
  });

  it('is not touched by a replica that has lost the operation', async () => {
    const bmc = await startBmc();
    const lost = new Error('the lease is gone');
    const checkHeld = () => {
      throw lost;
    };
    const { power } = siteWith().can;
    await expect(power.switchPower?.(callFor(machineOf(bmc), { checkHeld }), 'on')).rejects.toBe(lost);
    expect(bmc.changes()).toEqual([]);
  });
});

describe('the boot override', () => {
  it('lasts where that is asked for and offered, and says so where it is not', async () => {
    const lasting = siteWith({ boot: { persistent: true } });
    const standard = await startBmc();
    await lasting.can.netboot.setBootDevice(callFor(machineOf(standard)), 'pxe', '');
    expect(standard.system.boot.enabled).toBe('Continuous');
    const lenovo = await startBmc('lenovo');
    const call = callFor(machineOf(lenovo));
    await lasting.can.netboot.setBootDevice(call, 'pxe', '');
    expect(lenovo.system.boot.enabled).toBe('Once');
    expect(linesOf(call)).toContain('The BMC offers no lasting override: it is set for the next boot');
  });

  it('counts although it reads as continuous', async () => {
    const bmc = await startBmc();
    bmc.fault = 'once-reads-continuous';
    await siteWith().can.netboot.setBootDevice(callFor(machineOf(bmc)), 'pxe', '');
    expect(bmc.system.boot).toMatchObject({ enabled: 'Once', target: 'Pxe' });
  });
});

/** Class, code and whether the engine waits it out. */
const FAILURES: ReadonlyArray<readonly [RedfishFault, string, string, boolean, RegExp]> = [
  ['mute', 'retryable', 'UNREACHABLE', true, /does not answer: no answer in time/],
  ['slow', 'retryable', 'UNREACHABLE', true, /does not answer: no answer in time/],
  ['truncated', 'retryable', 'UNREACHABLE', true, /the connection broke/],
  ['half-json', 'retryable', 'REDFISH_UNREADABLE', false, /is broken JSON/],
  ['bad-gateway', 'retryable', 'UNREACHABLE', true, /answered 502/],
  ['other-protocol', 'needs_human', 'NOT_REDFISH', false, /its Redfish is v2, and not v1/],
  ['busy', 'retryable', 'BMC_BUSY', true, /is busy/],
  ['not-ready', 'retryable', 'BMC_BUSY', true, /iDRAC is not ready/],
  ['no-session-left', 'retryable', 'BMC_BUSY', true, /is busy/],
  ['full-of-sessions', 'retryable', 'BMC_BUSY', true, /opens no session now/],
  ['web-page', 'needs_human', 'NOT_REDFISH', false, /is not JSON/],
  ['plain-text', 'needs_human', 'NOT_REDFISH', false, /is not JSON/],
  ['redirect', 'needs_human', 'NOT_REDFISH', false, /redirects/],
  ['huge', 'needs_human', 'NOT_REDFISH', false, /more than 16777216 bytes/],
  ['other-schema', 'retryable', 'REDFISH_UNREADABLE', false, /has no members/],
  ['wrong-types', 'retryable', 'REDFISH_UNREADABLE', false, /the (?:Id|Name) of .* is no text/],
  ['dangling', 'permanent', 'REDFISH_SYSTEM_NOT_FOUND', false, /Systems\/1/],
  ['forbidden', 'needs_human', 'PRIVILEGE_REFUSED', false, /insufficient privileges/],
];

describe('a BMC that misbehaves', () => {
  it.each(FAILURES)('%s: %s %s', async (fault, failureClass, code, waits, words) => {
    const bmc = await startBmc();
    bmc.fault = fault;
    const call = callFor(machineOf(bmc));
    const error: unknown = await siteWith()
      .can.power.switchPower?.(call, 'on')
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    expect(error).toBeInstanceOf(StepFailure);
    if (!(error instanceof StepFailure)) return;
    expect(error.failure).toMatchObject({ class: failureClass, code });
    expect(error.outage !== null).toBe(waits);
    expect(error.failure.message).toMatch(words);
    expect(bmc.system.power).toBe('Off');
  });

  it('and asks to be left alone is left alone for so long', async () => {
    const bmc = await startBmc();
    bmc.fault = 'busy';
    const error: unknown = await siteWith()
      .can.power.bootState(callFor(machineOf(bmc)))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ outage: { effect: 'none', retryAfterMs: 7_000 } });
  });

  it('by having no session left is asked again, and its password is not taken for refused', async () => {
    const bmc = await startBmc();
    const { power } = siteWith().can;
    const call = callFor(machineOf(bmc));
    bmc.fault = 'full-of-sessions';
    expect(await failureOf(power.bootState(call))).toMatchObject({ code: 'BMC_BUSY' });
    bmc.fault = null;
    await expect(power.bootState(call)).resolves.toMatchObject({ power: 'off' });
  });

  it('by demanding versions that it does not give takes any', async () => {
    const bmc = await startBmc();
    bmc.shape = { ...bmc.shape, needsIfMatch: true, etag: 'none' };
    await siteWith().can.netboot.setBootDevice(callFor(machineOf(bmc)), 'pxe', '');
    expect(bmc.system.boot).toMatchObject({ target: 'Pxe' });
  });

  it('by a power that it says it switches, and does not, is not believed', async () => {
    const bmc = await startBmc();
    bmc.fault = 'lying-power';
    const { power } = siteWith().can;
    await power.switchPower?.(callFor(machineOf(bmc)), 'on');
    expect(await power.bootState(callFor(machineOf(bmc)))).toMatchObject({ power: 'off' });
  });

  it('by a power state that no schema has is quoted', async () => {
    const bmc = await startBmc();
    bmc.system.power = 'Hibernating' as never;
    expect(await failureOf(siteWith().can.power.bootState(callFor(machineOf(bmc))))).toMatchObject({
      class: 'retryable',
      code: 'REDFISH_UNREADABLE',
      message: expect.stringContaining('Systems/1 has the power state Hibernating') as string,
    });
  });

  it('and loses power before it answers leaves a change unknown, which is found again and not repeated', async () => {
    const bmc = await startBmc();
    const { power } = siteWith().can;
    bmc.fault = 'power-loss';
    const error: unknown = await power
      .switchPower?.(callFor(machineOf(bmc)), 'on')
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ failure: { code: 'UNREACHABLE' }, outage: { effect: 'unknown' } });
    bmc.fault = null;
    expect(await power.bootState(callFor(machineOf(bmc)))).toMatchObject({ power: 'on' });
    await power.switchPower?.(callFor(machineOf(bmc)), 'on');
    expect(bmc.system.resets).toEqual(['On']);
  });

  it('by calling each version outdated changes nothing, and says so', async () => {
    const bmc = await startBmc('ami');
    bmc.fault = 'other-version';
    const failure = await failureOf(
      siteWith().can.netboot.setBootDevice(callFor(machineOf(bmc)), 'disk', ''),
    );
    expect(failure).toMatchObject({ class: 'retryable' });
    expect(bmc.system.boot).toMatchObject({ enabled: 'Disabled' });
  });

  it('by sessions that end when they are not used costs a login', async () => {
    const bmc = await startBmc('standard', { sessionMs: 400 });
    const { power } = siteWith().can;
    await power.bootState(callFor(machineOf(bmc)));
    await sleep(500);
    await power.switchPower?.(callFor(machineOf(bmc)), 'on');
    expect(bmc.system.power).toBe('On');
    expect(bmc.requests.filter((line) => line.startsWith('POST') && line.endsWith('Sessions'))).toHaveLength(
      2,
    );
  });

  it('by ending sessions costs a login, and no more', async () => {
    const bmc = await startBmc();
    const { power } = siteWith().can;
    await power.bootState(callFor(machineOf(bmc)));
    bmc.sessions.clear();
    await power.switchPower?.(callFor(machineOf(bmc)), 'on');
    expect(bmc.system.power).toBe('On');
  });

  it('by knowing no session that it has just opened gets the password, and is not left alone', async () => {
    const bmc = await startBmc();
    const { power } = siteWith().can;
    const call = callFor(machineOf(bmc));
    bmc.fault = 'ends-sessions';
    await power.switchPower?.(call, 'on');
    expect(bmc.system.resets).toEqual(['On']);
    bmc.fault = null;
    await expect(power.bootState(call)).resolves.toMatchObject({ power: 'on' });
    expect(bmc.refusedLogins).toBe(0);
  });

  it('by closing kept connections costs a repeated read, and no repeated change', async () => {
    const bmc = await startBmc();
    const { power } = siteWith().can;
    bmc.fault = 'dead-connections';
    await expect(power.bootState(callFor(machineOf(bmc)))).resolves.toMatchObject({ power: 'off' });
    await power.switchPower?.(callFor(machineOf(bmc)), 'on');
    expect(bmc.system.resets).toEqual(['On']);
  });

  it('by a boot override that it forgets is found out', async () => {
    const bmc = await startBmc();
    bmc.fault = 'ignores-boot';
    const call = callFor(machineOf(bmc));
    expect(await failureOf(siteWith().can.netboot.setBootDevice(call, 'pxe', ''))).toMatchObject({
      class: 'retryable',
      code: 'BOOT_DEVICE_NOT_SET',
    });
  });

  it('has several systems: the one of the endpoint is used, and a guess is refused', async () => {
    const bmc = await startBmc();
    bmc.shape = { ...bmc.shape, moreSystems: ['2'] };
    const { power } = siteWith().can;
    expect(await failureOf(power.bootState(callFor(machineOf(bmc))))).toMatchObject({
      code: 'REDFISH_SYSTEM_NOT_FOUND',
      message: expect.stringContaining('/redfish/v1/Systems/1, /redfish/v1/Systems/2') as string,
    });
    await expect(power.bootState(callFor(machineOf(bmc, bmc.systemPath)))).resolves.toMatchObject({
      power: 'off',
    });
  });
});

describe('who the BMC is', () => {
  it('is not believed without an authority, and nothing is sent to it', async () => {
    const bmc = await startBmc();
    const strict = siteWith({ redfish: {} });
    expect(await failureOf(strict.can.power.bootState(callFor(machineOf(bmc))))).toMatchObject({
      class: 'needs_human',
      code: 'BMC_CERTIFICATE_UNTRUSTED',
      message: expect.stringContaining(`its SHA-256 is ${bmc.fingerprint}`) as string,
    });
    expect(bmc.requests).toEqual([]);
  });

  it('is what the machine has pinned, by whatever authority, and nothing else', async () => {
    const bmc = await startBmc();
    const strict = siteWith({ redfish: {} });
    const pinned = (fingerprint: string) => {
      const machine = machineOf(bmc);
      return { ...machine, spec: { ...machine.spec, bmc_certificate_sha256: fingerprint } };
    };
    await expect(strict.can.power.bootState(callFor(pinned(bmc.fingerprint)))).resolves.toMatchObject({
      power: 'off',
    });
    const asked = bmc.requests.length;
    expect(await failureOf(strict.can.power.bootState(callFor(pinned('0'.repeat(64)))))).toMatchObject({
      code: 'BMC_CERTIFICATE_UNTRUSTED',
      message: expect.stringContaining(bmc.fingerprint) as string,
    });
    expect(bmc.requests.length).toBe(asked);
  });

  it('is not asked in plain text, unless that is allowed', async () => {
    const bmc = await startBmc('standard', { tls: null });
    const machine = machineOf(bmc);
    const strict = siteWith();
    expect(() =>
      strict.provider.startChecks?.power?.(machine, { kind: 'reboot', config: {} }, {} as never, []),
    ).toThrow('plain text');
    const encrypted = machineWith(bmc.url.replace('http:', 'https:'));
    expect(await failureOf(strict.can.power.bootState(callFor(encrypted)))).toMatchObject({
      class: 'needs_human',
      code: 'NOT_REDFISH',
      message: expect.stringMatching(/it has no TLS that can be used/) as string,
    });
    const open = siteWith({ redfish: { plaintext: 'allowed' } });
    await expect(open.can.power.bootState(callFor(machine))).resolves.toMatchObject({ power: 'off' });
  });
});

describe('a password', () => {
  it('that is refused is sent once, and is in no message', async () => {
    const bmc = await startBmc();
    bmc.password = 'another';
    const { power } = siteWith().can;
    const calls = [callFor(machineOf(bmc)), callFor(machineOf(bmc))];
    for (const call of calls) {
      const failure = await failureOf(power.bootState(call));
      expect(failure).toMatchObject({ class: 'needs_human', code: 'AUTHENTICATION_FAILED' });
      expect(JSON.stringify([failure, call.lines])).not.toContain(PASSWORD);
    }
    expect(bmc.requests.filter((line) => line.startsWith('POST'))).toHaveLength(1);
    clock.ms += 5 * 60 * 1000;
    bmc.password = PASSWORD;
    await expect(power.bootState(callFor(machineOf(bmc)))).resolves.toMatchObject({ power: 'off' });
  });
});

describe('a probe', () => {
  it('says what the BMC answers', async () => {
    const bmc = await startBmc();
    const { inspect } = siteWith().can;
    expect(await inspect.bmc(machineOf(bmc), signal)).toMatchObject({ ok: true, reason: 'BmcOK' });
    bmc.fault = 'web-page';
    const other = siteWith().can.inspect;
    expect(await other.bmc(machineOf(bmc), signal)).toMatchObject({ ok: false, reason: 'NotRedfish' });
  });
});

it('bmc.protocol decides: ipmi refuses a URL, redfish takes a host for one', async () => {
  const bmc = await startBmc();
  const short = join(folder, 'short');
  writeFileSync(short, 'short enough\n');
  const ipmi = siteWith({ protocol: 'ipmi', password_file: short });
  expect(() =>
    ipmi.provider.startChecks?.power?.(machineOf(bmc), { kind: 'reboot', config: {} }, {} as never, []),
  ).toThrow('bmc.protocol ipmi');
  const redfish = siteWith({ protocol: 'redfish' });
  const machine = machineWith(`127.0.0.1:${bmc.port}`);
  await expect(redfish.can.power.bootState(callFor(machine))).resolves.toMatchObject({ power: 'off' });
});
