/** A provider's call as an operation would make it, and a MAAS provider against a simulated MAAS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Failure } from '../../src/domain/error/failure.ts';
import { sampleMachine } from '../../src/domain/machine/machine.fixture.ts';
import type { Machine } from '../../src/domain/machine/machine.ts';
import { StepFailure } from '../../src/engine/step-handler.ts';
import type { MaasControl } from '../../src/providers/maas/client/maas-control.ts';
import { maasConfiguration } from '../../src/providers/maas/maas-configuration.ts';
import { createMaasControl, createMaasProvider } from '../../src/providers/maas/maas-provider.ts';
import type { Inspect, PowerControl, ProviderCall } from '../../src/providers/provider.ts';
import { ANY_ADDRESS } from '../parts/any-address.ts';

export interface CallContext {
  readonly machine?: Machine;
  readonly signal?: AbortSignal;
  readonly checkHeld?: () => void;
  readonly log?: (text: string) => void;
}

export function callFor(parts: CallContext = {}): ProviderCall {
  return {
    machine: sampleMachine(),
    key: 'operation/step/1',
    step: 'step',
    fence: 1,
    checkHeld: () => {},
    signal: new AbortController().signal,
    log: () => {},
    ...parts,
  };
}

export function machineWith(spec: Partial<Machine['spec']>): Machine {
  const machine = sampleMachine();
  return { ...machine, spec: { ...machine.spec, ...spec } };
}

export interface TestMaas {
  readonly maas: MaasControl;
  readonly power: PowerControl;
  readonly inspect: Inspect;
  remove(): void;
}

export const BMC_PASSWORD = 'ieB4-oogh7Ye-bmc';

/** With short times, so that what takes too long is short too. */
export function maasAt(
  { url, apiKey }: { url: string; apiKey: string },
  settings: Readonly<Record<string, unknown>> = {},
): TestMaas {
  const folder = mkdtempSync(join(tmpdir(), 'ingot-maas-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const configuration = maasConfiguration.parse({
    kind: 'maas',
    url,
    api_key_file: file('api-key', `${apiKey}\n`),
    power: { type: 'ipmi', user: 'admin', password_file: file('bmc-password', `${BMC_PASSWORD}\n`) },
    request_timeout_seconds: 5,
    ...settings,
  });
  const options = {
    name: 'site-a',
    configuration,
    now: Date.now,
    monotonicNow: () => performance.now(),
    random: Math.random,
    clusters: new Map(),
    addresses: ANY_ADDRESS,
    credentials: new Map(),
    hostKeys: { read: async () => null },
  };
  const { power, inspect } = createMaasProvider(options).capabilities;
  if (!power || !inspect) throw new Error('the provider lacks a capability');
  return {
    maas: createMaasControl(options),
    power,
    inspect,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export async function failureOf(work: Promise<unknown>): Promise<Failure> {
  try {
    await work;
  } catch (error) {
    if (error instanceof StepFailure) return error.failure;
    throw error;
  }
  throw new Error('it did not fail');
}
