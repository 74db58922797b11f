/** Where a deployed system is reached. Nothing is connected to here. */
import { expect, it } from 'vitest';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import type { ProviderCall } from '../provider.ts';
import { createMaasHosts } from './maas-hosts.ts';
import { MemoryMaas } from './memory-maas.fixture.ts';

const NO_KEYS = { read: async () => null };

function endpointFor(
  sshEndpoint: string,
  seen: { status?: 'Deployed' | 'Ready'; addresses?: string[] } = {},
) {
  const view = new MemoryMaas(() => 0, seen.status ?? 'Deployed').view();
  const maas = { findByMac: async () => [{ ...view, ipAddresses: seen.addresses ?? [] }] };
  const machine = sampleMachine();
  const spec = { ...machine.spec, ssh_endpoint: sshEndpoint, mac_addresses: ['52:54:00:00:00:01'] };
  const call = { machine: { ...machine, spec }, signal: new AbortController().signal };
  return createMaasHosts(maas, NO_KEYS).endpointOf(call as unknown as ProviderCall);
}

it('is where the spec says, or else at the first address that MAAS names', async () => {
  expect(await endpointFor('[::1]:2222', { addresses: ['192.0.2.7'] })).toEqual({ host: '::1', port: 2222 });
  expect(await endpointFor('', { addresses: ['192.0.2.7', '192.0.2.8'] })).toEqual({
    host: '192.0.2.7',
    port: 22,
  });
});

it('a machine without an address is waited for, one that is not deployed is not reached', async () => {
  await expect(endpointFor('')).rejects.toMatchObject({
    failure: { class: 'retryable', code: 'NO_SSH_ENDPOINT' },
  });
  await expect(endpointFor('', { status: 'Ready', addresses: ['192.0.2.7'] })).rejects.toMatchObject({
    failure: { class: 'permanent', code: 'MAAS_NOT_DEPLOYED' },
  });
});

it('needs an address to find it by, unless the spec says where it is', () => {
  const hosts = createMaasHosts({ findByMac: async () => [] }, NO_KEYS);
  const machine = sampleMachine();
  const spec = { ...machine.spec, mac_addresses: [], ssh_endpoint: '' };
  expect(() => hosts.checkStart({ ...machine, spec })).toThrow(/spec.mac_addresses is empty/);
  expect(() => hosts.checkStart({ ...machine, spec: { ...spec, ssh_endpoint: '127.0.0.1' } })).not.toThrow();
});
