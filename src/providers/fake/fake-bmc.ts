/** The BMC of a simulated machine: every change is a task of no duration, named for what it sets. */
import type { BootOverrideRequest, BootReading } from '../../domain/hardware/boot-override.ts';
import { POWER_REQUESTS, type PowerRequest } from '../../domain/hardware/power-request.ts';
import type { BmcAdministration, PasswordState } from '../bmc-administration.ts';
import type { ProviderCall } from '../provider.ts';
import type { FakeState } from './fake-state.ts';
import { type FakeTasks, taskCall } from './fake-tasks.ts';

export interface FakeBmc {
  readonly indicator: 'on' | 'off';
  readonly limitWatts: number | null;
  readonly logEntries: number;
  readonly boot: BootReading;
  readonly password: PasswordState;
  /** How often its password was rotated. */
  readonly rotations: number;
}

const NEW_FAKE_BMC: FakeBmc = {
  indicator: 'off',
  limitWatts: null,
  logEntries: 3,
  boot: { source: 'none', target: 'None', lasts: 'not', mode: 'UEFI', path: '', offered: [] },
  password: 'none',
  rotations: 0,
};

/** A machine that was stored before there was a BMC has a new one. */
function fakeBmcOf({ bmc }: Pick<FakeState, 'bmc'>): FakeBmc {
  return { ...NEW_FAKE_BMC, ...bmc };
}

/** What a task `<field> <JSON>` makes of it. */
export function fakeBmcAfter(state: Pick<FakeState, 'bmc'>, target: string): Partial<FakeBmc> {
  const [field = '', text = 'null'] = [
    target.slice(0, target.indexOf(' ')),
    target.slice(target.indexOf(' ') + 1),
  ];
  if (!Object.hasOwn(NEW_FAKE_BMC, field)) return { ...state.bmc };
  const { password, rotations } = fakeBmcOf(state);
  const after = { ...state.bmc, [field]: JSON.parse(text) as unknown };
  const isRotated = field === 'password' && password === 'changed' && after.password === 'none';
  return isRotated ? { ...after, rotations: rotations + 1 } : after;
}

export function createFakeBmc(tasks: FakeTasks): BmcAdministration {
  const read = async (call: ProviderCall) => fakeBmcOf(await tasks.observe(call));
  const set = <F extends keyof FakeBmc>(call: ProviderCall, field: F, value: FakeBmc[F]) =>
    tasks.start(taskCall(call, `${field}-${value === null ? 'none' : String(value)}`), {
      kind: 'bmc',
      target: `${field} ${JSON.stringify(value)}`,
    });
  return {
    power: async (call) => (await tasks.observe(call)).power,
    offersPower: async () => true,
    changePower: (call, request) => changePower(tasks, call, request),
    indicator: async (call) => (await read(call)).indicator,
    setIndicator: (call, to) => set(call, 'indicator', to),
    powerReading: async (call) => ({
      watts: (await tasks.observe(call)).power === 'on' ? 310 : 12,
      limitWatts: (await read(call)).limitWatts,
      capacityWatts: 1400,
      lowestLimitWatts: 200,
      highestLimitWatts: 1400,
      limitAt: 'the simulated BMC',
    }),
    setPowerLimit: (call, watts) => set(call, 'limitWatts', watts),
    logEntries: async (call) => (await read(call)).logEntries,
    clearLog: (call) => set(call, 'logEntries', 0),
    resetBmc: (call) => tasks.start(call, { kind: 'bmc', target: 'reset' }),
    bootOverride: async (call) => (await read(call)).boot,
    setBootOverride: (call, request) =>
      tasks.start(taskCall(call, 'boot'), {
        kind: 'bmc',
        target: `boot ${JSON.stringify(readingOf(request))}`,
      }),
    certificate: async () => ({
      sha256: 'fa'.repeat(32),
      subject: 'CN=simulated BMC',
      issuer: 'CN=simulated BMC',
      validFrom: new Date('2026-01-01T00:00:00Z'),
      validTo: new Date('2036-01-01T00:00:00Z'),
      isVerified: false,
    }),
    rotation: () => ({ obstacle: null, sharing: 'own' }),
    passwordState: async (call) => (await read(call)).password,
    preparePassword: (call) => set(call, 'password', 'prepared'),
    changePassword: (call) => set(call, 'password', 'changed'),
    promotePassword: (call) => set(call, 'password', 'none'),
    dropPassword: (call) => set(call, 'password', 'none'),
  };
}

function readingOf({ source, lasts, mode, path }: BootOverrideRequest): BootReading {
  const isNone = source === 'none';
  return {
    source,
    target: source,
    lasts: isNone ? 'not' : lasts,
    mode: mode ?? 'UEFI',
    path,
    offered: [],
  };
}

async function changePower(tasks: FakeTasks, call: ProviderCall, request: PowerRequest): Promise<void> {
  const { power } = await tasks.observe(call);
  if (power === POWER_REQUESTS[request].endsIn) return;
  call.log(`Sending ${POWER_REQUESTS[request].redfish[0]} to the simulated BMC`);
  const kind =
    request === 'off' || request === 'shutdown'
      ? 'shutdown'
      : request === 'nmi' || request === 'push-button'
        ? 'bmc'
        : 'reboot';
  await tasks.start(taskCall(call, request), { kind, target: kind === 'bmc' ? request : '' });
}
