import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { until } from '../parts/until.ts';
import { createBmcSite, ipmitoolsOfOurs, machineWith } from './bmc-site.ts';
import { callFor, failureOf, type Site } from './site.ts';

const programs = needs('ipmi');

const { signal } = new AbortController();

describe.skipIf(programs.isMissing)(programs.title('a machine’s BMC'), () => {
  let bmc: IpmiBmc;
  let site: Site;
  let can: Site['can'];
  let machine: Machine;
  const clock = { ms: 0 };
  const sites: Site[] = [];

  beforeAll(async () => {
    bmc = await startBmc();
    machine = machineWith(bmc.endpoint);
  });
  /** Each test has its own provider, and so a fresh breaker. */
  beforeEach(() => {
    site = siteWith({});
    can = site.can;
  });
  afterEach(() => {
    bmc.thaw();
    bmc.repair();
    for (const made of sites.splice(0)) made.remove();
    expect(ipmitoolsOfOurs()).toEqual([]);
  });
  afterAll(() => bmc.stop());

  function siteWith(fields: Readonly<Record<string, unknown>>): Site {
    const made = createBmcSite(bmc, fields, { monotonicNow: () => clock.ms });
    sites.push(made);
    return made;
  }

  const power = async () => (await can.power.bootState(callFor(machine))).power;
  const probe = () => can.inspect.bmc(machine, signal);

  describe('power', () => {
    it('is switched on and off, as the machine itself shows', async () => {
      await can.power.switchPower?.(callFor(machine), 'on');
      expect([await power(), bmc.isOn()]).toEqual(['on', true]);
      await can.power.switchPower?.(callFor(machine), 'off');
      expect([await power(), bmc.isOn()]).toEqual(['off', false]);
    });

    it('is switched to what it is without harm', { tags: ['extended'] }, async () => {
      await can.power.switchPower?.(callFor(machine), 'on');
      const boots = bmc.boots().length;
      await can.power.switchPower?.(callFor(machine), 'on');
      expect(bmc.boots().length).toBe(boots);
      await can.power.switchPower?.(callFor(machine), 'off');
      await can.power.switchPower?.(callFor(machine), 'off');
      expect(bmc.isOn()).toBe(false);
    });

    it('goes off when the operating system is asked to go down', { tags: ['extended'] }, async () => {
      await can.power.switchPower?.(callFor(machine), 'on');
      await can.power.shutDown(callFor(machine));
      await until(async () => (await power()) === 'off');
      expect(bmc.commands()).toContain('set shutdown 1');
    });

    it('reports no boot id where no host can be asked', { tags: ['extended'] }, async () => {
      expect(await can.power.bootState(callFor(machine))).toMatchObject({ bootId: null, ready: false });
    });

    it('is not touched by a replica that has lost the operation', { tags: ['extended'] }, async () => {
      const before = bmc.commands().filter((command) => command.startsWith('set')).length;
      const lost = new Error('the lease is gone');
      const checkHeld = () => {
        throw lost;
      };
      await expect(can.power.switchPower?.(callFor(machine, { checkHeld }), 'on')).rejects.toBe(lost);
      expect(bmc.commands().filter((command) => command.startsWith('set')).length).toBe(before);
    });
  });

  describe('the boot device', () => {
    it.each(['pxe', 'disk', 'bios', 'none'])('is %s after it was set, as the BMC says', async (device) => {
      const call = callFor(machine);
      await can.netboot.setBootDevice(call, device, '');
      expect(await can.netboot.bootDevice(callFor(machine))).toMatchObject({ device, pending: false });
      expect(call.lines.map(({ text }) => text)).toContain(`The BMC says: next boot from ${device}`);
    });

    it('stays as it is when the image can’t be served', { tags: ['extended'] }, async () => {
      await can.netboot.setBootDevice(callFor(machine), 'disk', '');
      await expect(can.netboot.setBootDevice(callFor(machine), 'pxe', 'debian-12')).rejects.toThrow(
        'is no node',
      );
      expect(await can.netboot.bootDevice(callFor(machine))).toMatchObject({ device: 'disk', image: '' });
    });

    it('is none after the boot that it was set for', { tags: ['extended'] }, async () => {
      await can.power.switchPower?.(callFor(machine), 'off');
      await can.netboot.setBootDevice(callFor(machine), 'pxe', '');
      await can.power.switchPower?.(callFor(machine), 'on');
      expect(bmc.boots().at(-1)).toBe('pxe');
      expect(await can.netboot.bootDevice(callFor(machine))).toMatchObject({ device: 'none' });
    });

    it('that a BMC accepts and forgets is a failure', { tags: ['extended'] }, async () => {
      await can.netboot.setBootDevice(callFor(machine), 'disk', '');
      bmc.fault('ignores-boot');
      const failure = await failureOf(can.netboot.setBootDevice(callFor(machine), 'pxe', ''));
      expect(failure).toEqual({
        class: 'retryable',
        code: 'BOOT_DEVICE_NOT_SET',
        message: `the BMC ${bmc.endpoint} was set to boot from pxe and says disk`,
      });
    });

    it('counts for nothing while the BMC does not call its flags valid', { tags: ['extended'] }, async () => {
      const strict = siteWith({ boot: {} });
      const failure = await failureOf(strict.can.netboot.setBootDevice(callFor(machine), 'pxe', ''));
      expect(failure).toMatchObject({ class: 'retryable', code: 'BOOT_DEVICE_NOT_SET' });
      expect(failure.message).toContain('bmc.boot.ignore_valid_bit');
    });
  });

  describe('a password', () => {
    it('is never on a command line, nor in any message', { tags: ['extended'] }, async () => {
      bmc.slowDown(0.3);
      const call = callFor(machine);
      const setting = can.netboot.setBootDevice(call, 'pxe', '');
      const seen = new Map<number, { commandLine: string; environment: string }>();
      let over = false;
      const watching = (async () => {
        while (!over) {
          for (const program of ipmitoolsOfOurs()) seen.set(program.pid, program);
          await sleep(5);
        }
      })();
      await setting;
      over = true;
      await watching;
      expect(seen.size).toBeGreaterThanOrEqual(3);
      for (const { commandLine, environment } of seen.values()) {
        expect(commandLine).toContain(`-U ${bmc.user} -E`);
        expect(commandLine).not.toContain(bmc.password);
        // Or else this would be no test.
        expect(environment).toContain(bmc.password);
      }
      expect(JSON.stringify(call.lines)).not.toContain(bmc.password);
    });

    it('is not even on the command line that ipmitool is started with, before it could wipe it', async () => {
      const path = process.env.PATH;
      const asked = writtenFile('asked', '');
      const real = spawnSync('sh', ['-c', 'command -v ipmitool'], { encoding: 'utf8' }).stdout.trim();
      const script = `#!/bin/sh\nprintf '%s\\n' "$*" >> ${asked}\nexec ${real} "$@"\n`;
      const program = writtenFile('ipmitool', script);
      chmodSync(program, 0o755);
      process.env.PATH = `${dirname(program)}:${path}`;
      try {
        await can.netboot.setBootDevice(callFor(machine), 'pxe', '');
        await probe();
      } finally {
        process.env.PATH = path;
      }
      const lines = readFileSync(asked, 'utf8').trimEnd().split('\n');
      expect(lines.length).toBe(4);
      for (const line of lines) expect(line).toMatch(/^-I lanplus -C 3 .* -U admin -E -N \d -R \d -v /);
      expect(lines.join()).not.toContain(bmc.password);
    });

    it('that is wrong needs a human, is not shown, and is not tried again', async () => {
      const wrong = siteWith({ password_file: writtenFile('wrong', 'Not-the-password') });
      const refused = await failureOf(wrong.can.power.bootState(callFor(machine)));
      expect(refused).toEqual({
        class: 'needs_human',
        code: 'AUTHENTICATION_FAILED',
        message: `the BMC ${bmc.endpoint} does not accept our user and password`,
      });
      // Frozen, it could not refuse: the caller would run into its timeout.
      bmc.freeze();
      const spared = await failureOf(
        wrong.can.power.switchPower?.(callFor(machine), 'on') ?? Promise.resolve(),
      );
      expect(spared).toMatchObject({ class: 'needs_human', code: 'AUTHENTICATION_FAILED' });
      expect(spared.message).toBe(
        `admin@${bmc.endpoint} refused our password; it is not asked again for 300 s`,
      );
      expect(await wrong.can.inspect.bmc(machine, signal)).toMatchObject({
        ok: false,
        reason: 'AuthenticationFailed',
      });
      expect(JSON.stringify([refused, spared])).not.toContain('Not-the-password');
    });

    it('is tried again when it was changed, and when some time has passed', {
      tags: ['extended'],
    }, async () => {
      const file = writtenFile('changing', 'Not-the-password');
      const changing = siteWith({ password_file: file });
      await failureOf(changing.can.power.bootState(callFor(machine)));
      clock.ms += 299_000;
      expect((await failureOf(changing.can.power.bootState(callFor(machine)))).message).toContain('1 s');
      clock.ms += 1_000;
      expect((await failureOf(changing.can.power.bootState(callFor(machine)))).message).toContain('accept');
      writeFileSync(file, bmc.password);
      expect(await changing.can.power.bootState(callFor(machine))).toMatchObject({ pollAfterMs: 2_000 });
    });

    it('for a user that the BMC does not know is refused like a wrong one', {
      tags: ['extended'],
    }, async () => {
      const unknown = siteWith({ user: 'nobody' });
      expect(await failureOf(unknown.can.power.bootState(callFor(machine)))).toMatchObject({
        class: 'needs_human',
        code: 'AUTHENTICATION_FAILED',
      });
    });

    it('that can’t be read any more needs a human', { tags: ['extended'] }, async () => {
      const file = writtenFile('removed', 'x');
      const removed = siteWith({ password_file: file });
      rmSync(file);
      expect(await failureOf(removed.can.power.bootState(callFor(machine)))).toMatchObject({
        class: 'needs_human',
        code: 'CREDENTIAL_UNREADABLE',
      });
    });

    it('is used in the allowed networks only', { tags: ['extended'] }, async () => {
      const elsewhere = siteWith({ allowed_networks: ['10.0.0.0/8', 'fd00::/8'] });
      expect(await failureOf(elsewhere.can.power.bootState(callFor(machine)))).toMatchObject({
        class: 'permanent',
        code: 'BMC_ADDRESS_NOT_ALLOWED',
      });
      const here = siteWith({ allowed_networks: ['127.0.0.0/8'] });
      expect(await here.can.power.bootState(callFor(machine))).toMatchObject({ pollAfterMs: 2_000 });
    });
  });

  describe('callers', () => {
    it('have it one at a time, in the order of asking', { tags: ['extended'] }, async () => {
      bmc.slowDown(0.2);
      let most = 0;
      let over = false;
      const watching = (async () => {
        while (!over) {
          most = Math.max(most, ipmitoolsOfOurs().length);
          await sleep(5);
        }
      })();
      const order: number[] = [];
      const ask = async (index: number) => {
        await can.power.bootState(callFor(machine));
        order.push(index);
      };
      await Promise.all([ask(1), ask(2), ask(3), ask(4)]);
      over = true;
      await watching;
      expect(order).toEqual([1, 2, 3, 4]);
      expect(most).toBe(1);
    });

    it('of another BMC need not wait', { tags: ['extended'] }, async () => {
      const other = await startBmc();
      onTestFinished(() => other.stop());
      bmc.slowDown(0.8);
      const slow = can.power.bootState(callFor(machine));
      const began = performance.now();
      await can.power.bootState(callFor(machineWith(other.endpoint)));
      expect(performance.now() - began).toBeLessThan(700);
      await slow;
    });

    it('that only probe do not wait for those that switch power', { tags: ['extended'] }, async () => {
      bmc.slowDown(0.8);
      const working = can.power.bootState(callFor(machine));
      await until(() => ipmitoolsOfOurs().length === 1);
      const began = performance.now();
      expect(await probe()).toBeNull();
      expect(performance.now() - began).toBeLessThan(500);
      await working;
    });

    it('that are stopped get their error at once, and their program ends soon after', {
      tags: ['extended'],
    }, async () => {
      bmc.freeze();
      const stopping = new AbortController();
      const stopped = can.power.bootState(callFor(machine, { signal: stopping.signal }));
      await until(() => ipmitoolsOfOurs().length === 1);
      const began = performance.now();
      const reason = new Error('canceled');
      stopping.abort(reason);
      await expect(stopped).rejects.toBe(reason);
      expect(performance.now() - began).toBeLessThan(200);
      await until(() => ipmitoolsOfOurs().length === 0);
      expect(performance.now() - began).toBeLessThan(2_000);
      bmc.thaw();
      expect(await power()).toBe(bmc.isOn() ? 'on' : 'off');
    });

    it('that stop while they wait leave nothing behind', { tags: ['extended'] }, async () => {
      bmc.slowDown(0.5);
      const working = can.power.bootState(callFor(machine));
      const stopping = new AbortController();
      const waiting = can.power.bootState(callFor(machine, { signal: stopping.signal }));
      stopping.abort(new Error('canceled'));
      await expect(waiting).rejects.toThrow('canceled');
      await working;
      expect(await power()).toBe(bmc.isOn() ? 'on' : 'off');
    });
  });

  describe('that is not there', () => {
    it('is retryable, and says so', async () => {
      const gone = machineWith('127.0.0.1:9');
      expect(await failureOf(can.power.bootState(callFor(gone)))).toEqual({
        class: 'retryable',
        code: 'UNREACHABLE',
        message: 'the BMC 127.0.0.1:9 does not answer',
      });
    });

    it('or says nothing, is given up within the time limit', { tags: ['extended'] }, async () => {
      bmc.freeze();
      const began = performance.now();
      const failure = await failureOf(can.power.switchPower?.(callFor(machine), 'on') ?? Promise.resolve());
      expect(failure).toMatchObject({ class: 'retryable', code: 'UNREACHABLE' });
      expect(performance.now() - began).toBeLessThan(5_500);
    });

    it.each([
      ['https://127.0.0.1/redfish/v1', 'REDFISH_NOT_SUPPORTED'],
      ['', 'NO_BMC_ENDPOINT'],
    ])('because the machine has %j: permanent', async (endpoint, code) => {
      const other = machineWith(endpoint);
      const ipmiAlone = siteWith({ protocol: 'ipmi' }).can;
      const starting = (async () => ipmiAlone.power.bootState(callFor(other)))();
      expect(await failureOf(starting)).toMatchObject({ class: 'permanent', code });
      expect(await ipmiAlone.inspect.bmc(other, signal)).toBeNull();
    });
  });

  describe('probed', () => {
    it('answers, and says whether the machine is on', async () => {
      expect(await probe()).toEqual({
        ok: true,
        reason: 'BmcOK',
        message: `the BMC ${bmc.endpoint} answers; power is ${bmc.isOn() ? 'on' : 'off'}`,
      });
    });

    it('is missed when it does not respond', { tags: ['extended'] }, async () => {
      bmc.freeze();
      expect(await probe()).toMatchObject({ ok: false, reason: 'NoAnswer' });
    });

    it('by an unknown name, says so', { tags: ['extended'] }, async () => {
      expect(await can.inspect.bmc(machineWith('bmc.invalid'), signal)).toMatchObject({
        ok: false,
        reason: 'NameNotFound',
      });
    });
  });

  describe('ipmitool', () => {
    const path = process.env.PATH;
    let bin: string;
    beforeEach(() => {
      bin = mkdtempSync(join(tmpdir(), 'ingot-bin-'));
    });
    afterEach(() => {
      process.env.PATH = path;
      rmSync(bin, { recursive: true, force: true });
    });

    it('that is not installed needs a human, and the message says what to install', async () => {
      process.env.PATH = bin;
      expect(await failureOf(can.power.bootState(callFor(machine)))).toEqual({
        class: 'needs_human',
        code: 'IPMITOOL_MISSING',
        message: 'ipmitool is not installed where Ingot runs (Debian: apt install ipmitool)',
      });
      await expect(probe()).rejects.toThrow('not installed');
    });

    it('that does not end is killed', { tags: ['extended'] }, async () => {
      writeFileSync(join(bin, 'ipmitool'), "#!/bin/sh\ntrap '' INT TERM\nwhile :; do sleep 1; done\n");
      chmodSync(join(bin, 'ipmitool'), 0o755);
      process.env.PATH = `${bin}:${path}`;
      const began = performance.now();
      const failure = await failureOf(can.power.bootState(callFor(machine)));
      expect(failure).toMatchObject({ class: 'retryable', code: 'UNREACHABLE' });
      expect(failure.message).toContain('in time');
      // Its limit, what it is given to close its session, and what is left of its last sleep.
      expect(performance.now() - began).toBeLessThan(7_500);
    });

    it('is stopped by the signal on which it closes its session', { tags: ['extended'] }, async () => {
      const received = join(bin, 'received');
      const script = `#!/bin/sh\ntrap 'echo INT > ${received}; exit 255' INT\ntrap 'echo TERM > ${received}; exit 255' TERM\ntouch ${received}\nwhile :; do sleep 0.05; done\n`;
      writeFileSync(join(bin, 'ipmitool'), script);
      chmodSync(join(bin, 'ipmitool'), 0o755);
      process.env.PATH = `${bin}:${path}`;
      const stopping = new AbortController();
      const stopped = can.power.bootState(callFor(machine, { signal: stopping.signal }));
      await until(() => existsSync(received));
      stopping.abort(new Error('canceled'));
      await expect(stopped).rejects.toThrow('canceled');
      await until(() => readFileSync(received, 'utf8') !== '');
      expect(readFileSync(received, 'utf8')).toBe('INT\n');
    });

    it('that prints without end is kept in bounds', { tags: ['extended'] }, async () => {
      writeFileSync(
        join(bin, 'ipmitool'),
        '#!/bin/sh\necho Chassis Power is on\nhead -c 20000000 /dev/zero | tr "\\\\0" x\n',
      );
      chmodSync(join(bin, 'ipmitool'), 0o755);
      process.env.PATH = `${bin}:${path}`;
      expect(await power()).toBe('on');
    });
  });

  function writtenFile(name: string, text: string): string {
    const dir = mkdtempSync(join(tmpdir(), 'ingot-password-'));
    sites.push({ remove: () => rmSync(dir, { recursive: true, force: true }) } as Site);
    const file = join(dir, name);
    writeFileSync(file, text);
    return file;
  }
});
