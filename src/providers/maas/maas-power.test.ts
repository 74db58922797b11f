/** Power where commands can be run on the deployed system: its kernel says which boot it is in. */
import { describe, expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { ProviderCall, RemoteExec } from '../provider.ts';
import type { MaasControl, MaasPowerState, MaasStatus } from './client/maas-control.ts';
import { createMaasPower } from './maas-power.ts';
import { MemoryMaas } from './memory-maas.fixture.ts';

const BOOT_ID = '00000000-0000-4000-8000-000000000001';
const AWAY = new StepFailure(
  { class: 'retryable', code: 'UNREACHABLE', message: 'can’t connect' },
  { upstream: 'the SSH host', name: 'host', effect: 'none' },
);

interface Seen {
  readonly powerType?: string;
  readonly power?: MaasPowerState;
  readonly status?: MaasStatus;
  readonly answers?: boolean;
}

function powerOf({ powerType = 'ipmi', power = 'on', status = 'Deployed', answers = true }: Seen) {
  const asked: string[] = [];
  const maas = {
    findByMac: async () => [{ ...new MemoryMaas(() => 0, status).view(), powerType }],
    queryPower: async () => {
      asked.push('power');
      return power;
    },
  } as unknown as MaasControl;
  const remoteExec: RemoteExec = {
    async run() {
      asked.push('host');
      if (!answers) throw AWAY;
      return { exitCode: 0, stdout: `${BOOT_ID}\n` };
    },
  };
  return { power: createMaasPower(maas, remoteExec), asked };
}

const call = {
  machine: sampleMachine(),
  signal: new AbortController().signal,
  log: () => {},
} as unknown as ProviderCall;

it('says which boot the host is in, and that it is ready', async () => {
  expect(await powerOf({}).power.bootState(call)).toMatchObject({
    power: 'on',
    bootId: BOOT_ID,
    ready: true,
  });
  expect(await powerOf({ answers: false }).power.bootState(call)).toMatchObject({
    power: 'on',
    bootId: null,
    ready: false,
  });
});

it('asks no host that is off, or that is not deployed', async () => {
  const off = powerOf({ power: 'off' });
  expect(await off.power.bootState(call)).toMatchObject({ power: 'off', bootId: null });
  const installing = powerOf({ status: 'Deploying' });
  await installing.power.bootState(call);
  expect([off.asked, installing.asked]).toEqual([['power'], ['power']]);
});

it('a host that answers is on, whatever the BMC says', async () => {
  expect(await powerOf({ power: 'error' }).power.bootState(call)).toMatchObject({
    power: 'on',
    bootId: BOOT_ID,
  });
  await expect(powerOf({ power: 'error', answers: false }).power.bootState(call)).rejects.toMatchObject({
    failure: { code: 'MAAS_POWER_UNKNOWN' },
  });
});

describe('where people switch the power', () => {
  it('a host can be asked to reboot, and is waited for while it does not answer', async () => {
    const manual = powerOf({ powerType: 'manual' });
    expect(await manual.power.bootState(call)).toMatchObject({ power: 'on', bootId: BOOT_ID, ready: true });
    expect(manual.asked).toEqual(['host']);
    await expect(powerOf({ powerType: 'manual', answers: false }).power.bootState(call)).rejects.toBe(AWAY);
  });

  it('it is not switched', async () => {
    const { power } = powerOf({ powerType: 'manual' });
    await expect(power.switchPower?.(call, 'off')).rejects.toMatchObject({
      failure: { code: 'MAAS_POWER_MANUAL' },
    });
  });
});
