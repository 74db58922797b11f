// @module-tag extended: ipmi.test.ts switches power; steps.test.ts reboots.
/** Reboots of a host that has both: a BMC that switches its power, and an sshd that reports the current boot id. */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { NO_CONTROL_PLANE } from '../../src/steps/control-plane.fixture.ts';
import { defineStep, handlerFor } from '../../src/steps/registry.ts';
import { needs } from '../parts/debian-packages.ts';
import { type IpmiBmc, startBmc } from '../parts/ipmi.ts';
import { type Sshd, startSshd } from '../parts/sshd.ts';
import { attemptOf, drive } from './attempt.ts';
import { bmcFields, machineWith } from './bmc-site.ts';
import { callFor, createSite, failureOf, type Site } from './site.ts';

const programs = needs('ipmi', 'sshd');

describe.skipIf(programs.isMissing)(programs.title('a reboot'), () => {
  let bmc: IpmiBmc;
  let sshd: Sshd;
  let site: Site;
  let machine: Machine;
  const bin = mkdtempSync(join(tmpdir(), 'ingot-host-bin-'));
  const reboots = join(bin, 'reboots');

  beforeAll(async () => {
    bmc = await startBmc();
    // The kernel of the machine that runs the tests stays in its boot; the host's changes with its power.
    program(
      'cat',
      `[ "$1" = /proc/sys/kernel/random/boot_id ] && set -- ${bmc.bootIdFile}\nexec /bin/cat "$@"`,
    );
    program(
      'systemctl',
      `echo "$*" >> ${reboots}\n/bin/cat /proc/sys/kernel/random/uuid > ${bmc.bootIdFile}`,
    );
    sshd = await startSshd({ env: { PATH: `${bin}:/usr/bin:/bin` } });
    site = createSite(sshd, { bmc: bmcFields(bmc) });
    machine = machineWith(bmc.endpoint, sshd.endpoint);
  });
  beforeEach(async () => {
    writeFileSync(reboots, '');
    await site.can.power.switchPower?.(callFor(machine), 'on');
  });
  afterAll(async () => {
    await sshd.stop();
    await bmc.stop();
    site.remove();
    rmSync(bin, { recursive: true, force: true });
  });

  function program(name: string, body: string): void {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  }

  const rebootStep = (mode: string, of = machine) =>
    handlerFor(
      defineStep({ name: 'reboot', kind: 'reboot', config: { mode }, timeoutSeconds: 60, maxRetries: 1 }),
      { machine: of, provider: site.provider, controlPlane: NO_CONTROL_PLANE },
    );

  it('over the BMC is done when the host is up in another boot', async () => {
    const boots = bmc.boots().length;
    const { bootId } = await site.can.power.bootState(callFor(machine));
    expect(bootId).toBe(readFileSync(bmc.bootIdFile, 'utf8').trim());
    expect(await drive(rebootStep('bmc'), attemptOf('reboot', 1))).toMatchObject({
      seen: 'done',
      message: 'the machine is back',
      change: { conditions: [{ type: 'Reachable', status: true, reason: 'RebootVerified' }] },
    });
    expect(bmc.boots().length).toBe(boots + 1);
    expect(readFileSync(reboots, 'utf8')).toBe('');
  });

  it('over SSH asks the host, which has its power all the time', async () => {
    const boots = bmc.boots().length;
    expect(await drive(rebootStep('ssh'), attemptOf('reboot', 1))).toMatchObject({ seen: 'done' });
    expect(readFileSync(reboots, 'utf8')).toBe('reboot\n');
    expect(bmc.boots().length).toBe(boots);
  });

  it('over SSH that comes again in the next boot does nothing there', { tags: ['extended'] }, async () => {
    const { bootId } = await site.can.power.bootState(callFor(machine));
    await drive(rebootStep('ssh'), attemptOf('reboot', 1));
    await site.can.power.reboot(callFor(machine), 'ssh', bootId ?? '');
    await sleep(1_500);
    expect(readFileSync(reboots, 'utf8')).toBe('reboot\n');
  });

  it('into the network is done when the power is on: what answers then is not the host', {
    tags: ['extended'],
  }, async () => {
    await site.can.netboot.setBootDevice(callFor(machine), 'pxe', '');
    const seen = await drive(rebootStep('bmc'), attemptOf('reboot', 1));
    expect(seen).toEqual({ seen: 'done', message: 'the power was switched off and on' });
    expect(bmc.boots().at(-1)).toBe('pxe');
  });

  it('into the network over SSH is refused, since its end could not be observed', async () => {
    await site.can.netboot.setBootDevice(callFor(machine), 'pxe', '');
    const { context } = attemptOf('reboot', 1);
    expect(await failureOf(rebootStep('ssh').act(context))).toMatchObject({ code: 'HOST_UNREACHABLE' });
    expect(readFileSync(reboots, 'utf8')).toBe('');
    await site.can.netboot.setBootDevice(callFor(machine), 'disk', '');
  });

  it('by the BMC of another machine is detected', { tags: ['extended'] }, async () => {
    const other = await startBmc();
    onTestFinished(() => other.stop());
    const crossed = machineWith(other.endpoint, sshd.endpoint);
    await site.can.power.switchPower?.(callFor(crossed), 'on');
    expect(await drive(rebootStep('bmc', crossed), attemptOf('reboot', 1))).toMatchObject({
      seen: 'failed',
      failure: { class: 'needs_human', code: 'BMC_MISMATCH' },
    });
  });

  it('goes on where a holder died, whatever the BMC was doing meanwhile', async () => {
    const boots = bmc.boots().length;
    const first = attemptOf('reboot', 1);
    await rebootStep('bmc').act(first.context);
    bmc.freeze();
    await expect(rebootStep('bmc').observe(first.context)).rejects.toMatchObject({
      outage: { upstream: 'the BMC', name: bmc.endpoint },
    });
    bmc.thaw();
    expect(await drive(rebootStep('bmc'), first)).toMatchObject({ seen: 'done' });
    expect(bmc.boots().length).toBe(boots + 1);
  });
});
