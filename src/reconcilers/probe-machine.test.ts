import { expect, test } from 'vitest';
import { sampleMachine } from '../domain/machine/machine.fixture.ts';
import type { Inspect } from '../providers/provider.ts';
import { probeMachine } from './probe-machine.ts';

const UP = { ok: true, reason: 'PingOK', message: 'up' };
const forever = () => new Promise<never>(() => {});

function probe(probes: Partial<Inspect>, stop = new AbortController().signal) {
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
    results: probeMachine(sampleMachine(), inspect, { limitMs: 30, stop, onProbeError }),
  };
}

test('a host or BMC that does not answer is a miss, even where the probe ignores its signal', async () => {
  const { results } = probe({ host: forever, bmc: forever });
  const noAnswer = { ok: false, reason: 'NoAnswer', message: 'no answer within 0.03 s' };
  expect(await results).toEqual({ host: noAnswer, bmc: noAnswer, cluster: null });
});

test('a probe that ends with its signal is a miss as well', async () => {
  const { results, errors } = probe({
    host: (_machine, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  expect((await results)?.host?.ok).toBe(false);
  expect(errors).toEqual([]);
});

test('a cluster that does not answer says nothing about its nodes', async () => {
  expect(await probe({ cluster: forever }).results).toEqual({ host: UP, bmc: null, cluster: null });
});

test('a probe that fails itself says nothing, and is reported', async () => {
  const { results, errors } = probe({ bmc: () => Promise.reject(new Error('no credentials')) });
  expect(await results).toEqual({ host: UP, bmc: null, cluster: null });
  expect(errors).toEqual(['bmc: no credentials']);
});

test('a probe that is stopped has no result, not a miss', async () => {
  const stop = new AbortController();
  const { results } = probe({ host: forever }, stop.signal);
  stop.abort();
  expect(await results).toBeNull();
  expect(await probe({}, stop.signal).results).toBeNull();
});
