/** Which provider drives a machine: that of its spec, or else that of its label, or else the default. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { v1Of } from '../api-v1/runs.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { fresh } from './fleet.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ providers: { 'dc-1': { kind: 'fake' }, 'dc-2': { kind: 'fake' } } });
});
afterAll(() => server?.stop());

/** As docs/api-v1.md prints it. */
function sample(machineId: string) {
  return {
    machineId,
    labels: { env: 'prod', role: 'worker', provider: 'dc-1' },
    spec: {
      sshEndpoint: '10.20.30.40:22',
      bmcEndpoint: '10.20.30.41',
      targetClusterRef: 'cluster-a',
      macAddresses: ['aa:bb:cc:dd:ee:ff'],
    },
  };
}

async function providerOf(machineId: string): Promise<string | undefined> {
  return (await server.machines.getMachine({ machineId })).spec?.provider;
}

test('the example machine of docs/api-v1.md belongs to the provider that its label names, in both APIs', async () => {
  for (const api of [server.machines, v1Of(server).machines]) {
    const machine = { ...sample(fresh('m')), spec: {} };
    const { spec } = await api.registerMachine({ machine });
    expect(spec?.provider).toBe('dc-1');
    expect(await providerOf(machine.machineId)).toBe('dc-1');
  }
  const { spec } = await v1Of(server).machines.registerMachine({ machine: sample('m-123') });
  expect(spec).toMatchObject({ ...sample('').spec, provider: 'dc-1' });
});

test.each([
  ['the spec before the label', { provider: 'dc-1' }, 'dc-2', 'dc-2'],
  ['the label, where the spec names none', { provider: 'dc-2' }, '', 'dc-2'],
  ['the default, where the label is empty', { provider: '' }, '', 'fake'],
  ['the default, where nothing names one', {}, '', 'fake'],
  ['the spec, whatever the label says', { provider: 'elsewhere' }, 'dc-1', 'dc-1'],
])('%s', async (_what, labels: Record<string, string>, provider, expected) => {
  const machineId = fresh('choice');
  await server.machines.registerMachine({ machine: { machineId, labels, spec: { provider } } });
  expect(await providerOf(machineId)).toBe(expected);
});

test('a machine that exists stays with its provider unless another is named', async () => {
  const machineId = fresh('choice');
  await server.machines.registerMachine({ machine: { machineId, spec: { provider: 'dc-1' } } });
  await server.machines.registerMachine({ machine: { machineId, labels: { a: 'b' } } });
  expect(await providerOf(machineId)).toBe('dc-1');
  await server.machines.updateMachine({ machine: { machineId, spec: { targetClusterRef: 'east' } } });
  expect(await providerOf(machineId)).toBe('dc-1');
  const labels = { provider: 'dc-2' };
  await server.machines.updateMachine({ machine: { machineId, labels } });
  expect(await providerOf(machineId)).toBe('dc-1');
  await server.machines.registerMachine({ machine: { machineId, labels } });
  expect(await providerOf(machineId)).toBe('dc-2');
  const paths = ['spec.provider', 'labels'];
  await server.machines.updateMachine({ machine: { machineId, spec: {} }, updateMask: { paths } });
  expect(await providerOf(machineId)).toBe('fake');
});

test('a provider that the label named follows the label, and is refused where that names none that is there', async () => {
  const machineId = fresh('choice');
  const v1 = v1Of(server).machines;
  await v1.registerMachine({ machine: { machineId, labels: { provider: 'dc-1' } } });
  const labelled = (provider: string) => ({ machineId, labels: { provider } });
  const paths = ['labels.provider'];
  for (const call of [
    () => v1.updateMachine({ machine: labelled('elsewhere') }),
    () => server.machines.updateMachine({ machine: labelled('elsewhere'), updateMask: { paths } }),
  ]) {
    const error = await refusal(call());
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', violations: [{ field: 'labels.provider' }] });
  }
  await server.machines.updateMachine({ machine: labelled('dc-2'), updateMask: { paths } });
  expect(await providerOf(machineId)).toBe('dc-2');
  await v1.updateMachine({ machine: { ...labelled('dc-1'), spec: { targetClusterRef: 'east' } } });
  expect(await providerOf(machineId)).toBe('dc-1');
  await v1.updateMachine({ machine: { ...labelled('dc-2'), spec: { provider: 'dc-1' } } });
  expect(await providerOf(machineId)).toBe('dc-1');
  await v1.updateMachine({ machine: labelled('elsewhere') });
  expect(await providerOf(machineId)).toBe('dc-1');
  await server.machines.updateMachine({ machine: { machineId, labels: {} }, updateMask: { paths } });
  expect(await providerOf(machineId)).toBe('dc-1');
});
