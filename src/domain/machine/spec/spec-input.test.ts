import { describe, expect, it } from 'vitest';
import type { MachineSpec } from '../machine.ts';
import { LONE_SURROGATE, NUL, refused, UNPRINTABLE } from '../refused.fixture.ts';
import { EMPTY_SPEC } from './machine-spec.ts';
import { checkSpec } from './spec-input.ts';

const PROVIDERS = new Set(['fake', 'dc-1']);

const spec = (fields: Partial<MachineSpec>): MachineSpec => ({ ...EMPTY_SPEC, provider: 'fake', ...fields });
const checked = (fields: Partial<MachineSpec>) =>
  checkSpec(spec(fields), { providers: PROVIDERS, storedMacs: [] });

describe.each([
  ['spec.customer_id', 128, (customer_id: string) => ({ customer_id })],
  ['spec.serial', 128, (serial: string) => ({ serial })],
  ['spec.location.site', 64, (site: string) => ({ location: { ...EMPTY_SPEC.location, site } })],
  ['spec.location.row', 64, (row: string) => ({ location: { ...EMPTY_SPEC.location, row } })],
  ['spec.location.rack', 64, (rack: string) => ({ location: { ...EMPTY_SPEC.location, rack } })],
  ['spec.location.unit', 64, (unit: string) => ({ location: { ...EMPTY_SPEC.location, unit } })],
] as const)('%s', (field, maxLength, fields) => {
  it.each(['', 'acme', 'U14', '14-15', 'Halle 2, Reihe ö', 'x'.repeat(maxLength)])('takes %j', (text) =>
    expect(checked(fields(text))).toMatchObject(fields(text)),
  );

  it.each(['x'.repeat(maxLength + 1), 'a\u0000', 'a\nb', '\u001b[31m', '\u2028', ' a', 'a ', ' '])(
    'refuses %j',
    (text) => {
      refused(() => checked(fields(text)), field);
    },
  );
});

describe('spec.provider', () => {
  it.each(['fake', 'dc-1'])('takes %s', (provider) => expect(checked({ provider }).provider).toBe(provider));

  it('names those that there are', () => {
    expect(refused(() => checked({ provider: 'cloud' }), 'spec.provider').message).toBe(
      'spec.provider: cloud is not a configured provider; there are fake, dc-1',
    );
  });

  it.each(['', 'Fake', 'fake ', 'x'.repeat(10_000), ...['\n', NUL].map((c) => `fake${c}`)])(
    'refuses %j',
    (provider) => {
      expect(refused(() => checked({ provider }), 'spec.provider').message.length).toBeLessThan(300);
    },
  );
});

const HOSTS = [
  '',
  'host',
  'host.example.com',
  'host.example.com.',
  '10.0.0.7',
  '10.0.0.7:22',
  'host:1',
  'host:65535',
  '[::1]',
  '[fd12::1]:22',
  '[2001:DB8::10.0.0.1]:65535',
];
const NOT_HOSTS = [
  ':22',
  'host:',
  'host:0',
  'host:65536',
  'host:99999',
  'host:022222',
  'host:-1',
  'host:ssh',
  '-host',
  '.host',
  'ho st',
  ' host',
  'user@host',
  'user:secret@host',
  'host/path',
  '::1',
  'fe80::1:22',
  '[::1',
  '::1]:22',
  '[fe80::1%eth0]:22',
  '[host]:22',
  '[1.2.3.4]',
  '[::::]:22',
  'hôst',
  ...UNPRINTABLE.map((character) => `host${character}`),
];

describe.each(['ssh_endpoint', 'bmc_endpoint'] as const)('spec.%s', (field) => {
  it.each(HOSTS)('takes %j', (endpoint) => expect(checked({ [field]: endpoint })[field]).toBe(endpoint));

  it.each(NOT_HOSTS)(
    'refuses %j',
    (endpoint) => void refused(() => checked({ [field]: endpoint }), `spec.${field}`),
  );
});

describe.each(['ssh_endpoint', 'bmc_endpoint'] as const)('the length of spec.%s', (field) => {
  it('is at most 512 characters', () => {
    const endpoint = (length: number) => `${'a.'.repeat(length / 2 - 1)}aa`;
    expect(checked({ [field]: endpoint(512) })[field]).toHaveLength(512);
    refused(() => checked({ [field]: endpoint(514) }), `spec.${field}`);
    refused(() => checked({ [field]: `https://${'b'.repeat(2_000_000)}/` }), `spec.${field}`);
  });
});

describe('spec.ssh_endpoint', () => {
  it.each(['ssh://host', 'https://host/'])('is not a URL: %s', (endpoint) => {
    refused(() => checked({ ssh_endpoint: endpoint }), 'spec.ssh_endpoint');
  });
});

describe('spec.bmc_endpoint', () => {
  it.each([
    'https://bmc-7',
    'http://10.0.0.7:8000/redfish/v1',
    'HTTPS://bmc/',
    'https://[fd12::1]:443/redfish',
  ])('may be the URL %s', (endpoint) =>
    expect(checked({ bmc_endpoint: endpoint }).bmc_endpoint).toBe(endpoint),
  );

  it.each([
    'ftp://bmc',
    'file:///etc/passwd',
    'javascript://x',
    'https://',
    'https://b:99999/',
    'https://b\n/',
    'https:///bmc/redfish',
    'https://bmc\\redfish',
    'https://b%6dc/',
    'https://[::::]/',
    `https://b/${LONE_SURROGATE}`,
  ])(
    'refuses %j',
    (endpoint) => void refused(() => checked({ bmc_endpoint: endpoint }), 'spec.bmc_endpoint'),
  );

  it.each(['https://root:calvin@bmc/', 'https://root@bmc/', 'https://:calvin@bmc/', 'HTTP://a:b@[::1]/'])(
    'refuses the credentials in %s and does not repeat them',
    (endpoint) => {
      const fault = refused(() => checked({ bmc_endpoint: endpoint }), 'spec.bmc_endpoint');
      expect(fault.message).toBe('spec.bmc_endpoint: must not carry credentials');
    },
  );
});

describe('spec.target_cluster_ref', () => {
  it.each(['', 'prod', 'eu/prod-1', 'c.example'])('takes %j', (ref) => {
    expect(checked({ target_cluster_ref: ref }).target_cluster_ref).toBe(ref);
  });

  it.each(['-a', 'a b', 'ä', 'c'.repeat(254), ...UNPRINTABLE])('refuses %j', (ref) => {
    refused(() => checked({ target_cluster_ref: ref }), 'spec.target_cluster_ref');
  });
});

describe('spec.mac_addresses', () => {
  it('are kept in one spelling', () => {
    expect(checked({ mac_addresses: ['AA-BB-CC-DD-EE-FF', '00:11:22:33:44:55'] }).mac_addresses).toEqual([
      'aa:bb:cc:dd:ee:ff',
      '00:11:22:33:44:55',
    ]);
  });

  it.each([
    '',
    'aa:bb:cc:dd:ee',
    'aa:bb:cc:dd:ee:ff:00',
    'gg:bb:cc:dd:ee:ff',
    'aabbccddeeff',
    'aa:bb:cc:dd:ee:ff\n',
  ])(
    'refuses %j and says which it is',
    (mac) =>
      void refused(() => checked({ mac_addresses: ['00:11:22:33:44:55', mac] }), 'spec.mac_addresses[1]'),
  );

  it('refuses one that is there twice, however it is spelled', () => {
    const fault = refused(
      () => checked({ mac_addresses: ['AA:BB:CC:DD:EE:FF', 'aa-bb-cc-dd-ee-ff'] }),
      'spec.mac_addresses',
    );
    expect(fault.message).toMatch(/aa:bb:cc:dd:ee:ff is there twice/);
  });

  it('are at most 64', () => {
    const macs = (count: number) =>
      Array.from({ length: count }, (_, index) => `52:00:00:00:00:${index.toString(16).padStart(2, '0')}`);
    expect(checked({ mac_addresses: macs(64) }).mac_addresses).toHaveLength(64);
    refused(() => checked({ mac_addresses: macs(65) }), 'spec.mac_addresses');
  });
});
