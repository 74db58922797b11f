import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { joinConfiguration } from './join-configuration.ts';
import { checkNodeNameLabel, isNodeName } from './node-name.ts';

const joining = {
  endpoint: '10.0.0.1:6443',
  caCertHashes: ['sha256:abc'],
  node: 'm-1',
  token: { id: '123456', secret: '0123456789012345' },
  kubeadmVersion: 'v1.31.2',
};

it('kubeadm gets the address, the token and the name of the node', () => {
  expect(parse(joinConfiguration(joining))).toEqual({
    apiVersion: 'kubeadm.k8s.io/v1beta4',
    kind: 'JoinConfiguration',
    discovery: {
      bootstrapToken: {
        apiServerEndpoint: '10.0.0.1:6443',
        token: '123456.0123456789012345',
        caCertHashes: ['sha256:abc'],
      },
      tlsBootstrapToken: '123456.0123456789012345',
    },
    nodeRegistration: { name: 'm-1' },
  });
});

it.each([
  ['v1.22.0', 'v1beta3'],
  ['v1.30.9', 'v1beta3'],
  ['v1.31.0-rc.1', 'v1beta4'],
  ['v1.34.1', 'v1beta4'],
  ['v2.0.0', 'v1beta4'],
])('kubeadm %s gets a configuration of version %s', (kubeadmVersion, version) => {
  const { apiVersion } = parse(joinConfiguration({ ...joining, kubeadmVersion }));
  expect(apiVersion).toBe(`kubeadm.k8s.io/${version}`);
});

it.each([
  ['m-1', true],
  ['rack-1.node-2', true],
  ['M-1', false],
  ['m_1', false],
  ['-m', false],
  ['m.', false],
  ['', false],
  ['a'.repeat(64), false],
  [`${'a'.repeat(60)}.`.repeat(5).slice(0, -1), false],
])('%j as the name of a node: %s', (name, fits) => {
  expect(isNodeName(name)).toBe(fits);
  expect(checkNodeNameLabel({ 'ingot/node-name': name }) === null).toBe(fits);
});
