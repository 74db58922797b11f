import { expect, test } from 'vitest';
import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import type { Inspect } from '../providers/provider.ts';
import { probeMachine } from './probe-machine.ts';

const UP = { ok: true, reason: 'PingOK', message: 'up' };
const forever = () => new Promise<never>(() => {});

function look(probes: Partial<Inspect>, stop = new AbortController().signal) {
  const errors: string[] = [];
  const inspect: Inspect = {
    host: async () => UP,
    bmc: async () => null,
    cluster: async () => null,
    ...probes,
  };
  const onProbeError = (error: unknown, probe: string) =>
    errors.push(`${probe}: ${(error as Error).message}`);
  return {
    errors,
    sightings: probeMachine(sampleMachine(), inspect, { limitMs: 30, stop, onProbeError }),
  };
}

test('a silent host or BMC is a miss, even where the probe does not heed its signal', async () => {
  const { sightings } = look({ host: forever, bmc: forever });
  const silent = { ok: false, reason: 'NoAnswer', message: 'no answer within 0.03 s' };
  expect(await sightings).toEqual({ host: silent, bmc: silent, cluster: null });
});

test('a probe that ends with its signal is a miss as well', async () => {
  const { sightings, errors } = look({
    host: (_machine, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  expect((await sightings)?.host?.ok).toBe(false);
  expect(errors).toEqual([]);
});

test('a cluster that does not answer tells nothing about its nodes', async () => {
  expect(await look({ cluster: forever }).sightings).toEqual({ host: UP, bmc: null, cluster: null });
});

test('a probe that fails by itself tells nothing, and is reported', async () => {
  const { sightings, errors } = look({ bmc: () => Promise.reject(new Error('no credentials')) });
  expect(await sightings).toEqual({ host: UP, bmc: null, cluster: null });
  expect(errors).toEqual(['bmc: no credentials']);
});

test('a look that is stopped has seen nothing, not a miss', async () => {
  const stop = new AbortController();
  const { sightings } = look({ host: forever }, stop.signal);
  stop.abort();
  expect(await sightings).toBeNull();
  expect(await look({}, stop.signal).sightings).toBeNull();
});
