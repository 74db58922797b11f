import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfiguration } from './configuration.ts';
import { SettingError } from './settings.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ingot-configuration-test-'));
  file = join(folder, 'ingot.yaml');
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (text: string) => {
  writeFileSync(file, text);
  return readConfiguration(file);
};

function problem(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(SettingError);
    return (error as Error).message;
  }
  throw new Error('was not refused');
}

describe('the configuration', () => {
  it('is the fake provider alone without a file, and with an empty one', () => {
    expect(readConfiguration(null)).toMatchObject({ default_provider: 'fake', providers: {} });
    expect(read('')).toEqual(readConfiguration(null));
    expect(read('# nothing yet\n')).toEqual(readConfiguration(null));
  });

  it('names providers, and which of them a machine has that names none', () => {
    const configuration = read(
      'default_provider: dc-1\nproviders:\n  dc-1: { kind: fake }\n  dc-2: { kind: fake }\n',
    );
    expect(configuration.default_provider).toBe('dc-1');
    expect(Object.keys(configuration.providers)).toEqual(['dc-1', 'dc-2']);
  });
});

it('with filters in any section can be sent to a worker process', () => {
  const mapping = '{ claim: groups, value: ops, role: viewer, scope: customer_id=acme }';
  const configuration = read(
    `oidc: [{ name: a, issuer: 'https://id.example.com', audience: ingot, client_id: ingot, mappings: [${mapping}] }]\n` +
      'roles: { on-call: { methods: [MachineService/*] } }\napprovals: [type=REIMAGE AND labels.env=prod]\n' +
      'tls: { cert_file: a, key_file: b, client_ca_file: c }\ncertificates: [{ san: spiffe://acme/ops, role: viewer, scope: customer_id=acme }]\n',
  );
  expect(structuredClone(configuration)).toEqual(configuration);
});

describe('rules that approve nodes', () => {
  it('discovery is on, off, or for some networks', () => {
    const discovery = (text: string) => read(`netboot: { discovery: ${text} }\n`).netboot.discovery;
    expect(readConfiguration(null).netboot.discovery).toEqual({ isOn: true, networks: null });
    expect(discovery('on')).toEqual({ isOn: true, networks: null });
    expect(discovery('off')).toEqual({ isOn: false, networks: null });
    expect(discovery('false')).toEqual({ isOn: false, networks: null });
    expect(discovery('{ networks: [192.0.2.0/24, "2001:db8::/32"] }')).toEqual({
      isOn: true,
      networks: ['192.0.2.0/24', '2001:db8::/32'],
    });
    expect(discovery('{ mode: off }')).toEqual({ isOn: false, networks: null });
  });

  it('have their addresses in one form, and say nothing of what they leave out', () => {
    const { netboot } = read(
      'netboot: { approve: [{ name: racks, mac_prefixes: [D8-9E-F3, "52:54"], workflow: ubuntu }, { name: a, vendors: [HPE] }] }\n',
    );
    expect(netboot.approve).toEqual([
      {
        name: 'racks',
        macPrefixes: ['d8:9e:f3', '52:54'],
        vendors: [],
        serialNumbers: [],
        profile: 'ubuntu',
      },
      { name: 'a', macPrefixes: [], vendors: ['HPE'], serialNumbers: [], profile: '' },
    ]);
  });
});

describe('a wrong configuration is one line that names the setting, the file and', () => {
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['the line of a syntax error', 'providers:\n  dc-1: { kind: fake\n', /line \d+: /],
    ['the line of a key that is there twice', 'default_provider: fake\ndefault_provider: fake\n', /line 2: /],
    ['the line of a tab', 'providers:\n\tdc-1: {}\n', /line 2: (?!.* at line)/],
    ['a key that there is not', 'colour: red\n', /colour/],
    ['a value of the wrong type', 'providers: 7\n', /: providers: /],
    [
      'a rule that approves everything',
      'netboot: { approve: [{ name: all }] }\n',
      /: netboot\.approve\.0: needs /,
    ],
    [
      'a rule by no address',
      'netboot: { approve: [{ name: a, mac_prefixes: ["5"] }] }\n',
      /: netboot\.approve\.0\.mac_prefixes\.0: must be one to six pairs/,
    ],
    ['an invalid network', 'netboot: { discovery: { networks: [lab] } }\n', /: netboot\.discovery/],
    ['a discovery that is neither', 'netboot: { discovery: maybe }\n', /: netboot\.discovery/],
    ['a rule without a name', 'netboot: { approve: [{ vendors: [x] }] }\n', /: netboot\.approve\.0\.name: /],
    [
      'a rule with a field that there is not',
      'netboot: { approve: [{ name: a, vendor: x }] }\n',
      /: netboot\.approve\.0: has no field vendor/,
    ],
    [
      'a rule with the name of another',
      'netboot: { approve: [{ name: a, vendors: [x] }, { name: a, vendors: [y] }] }\n',
      /: netboot\.approve\.1\.name: is the name of another rule too/,
    ],
    ['a provider without a kind', 'providers: { dc-1: {} }\n', /: providers\.dc-1\.kind: /],
    [
      'a provider of an unknown kind',
      'providers: { dc-1: { kind: cloud } }\n',
      /: providers\.dc-1\.kind: must be one of fake, generic, datacenter, maas$/,
    ],
    ['a provider’s name that is no name', 'providers: { "Dc 1": { kind: fake } }\n', /: providers\.Dc 1: /],
    [
      'a default that is not there',
      'default_provider: dc-9\n',
      /: default_provider: dc-9 is not among fake, generic$/,
    ],
    [
      'a certificate of a role that there is not',
      'certificates: [{ san: a.example, role: root }]\n',
      /: certificates\.0\.role: there is no role "root"/,
    ],
    ['half of a certificate', 'tls: { cert_file: /x }\n', /: tls\.key_file: /],
    ['a file that is no mapping', 'just words\n', /: the file: /],
    ['a file of several documents', '---\n---\n', /line \d+: /],
  ];

  it.each(wrong)('%s', (_what, text, expected) => {
    const message = problem(() => read(text));
    expect(message.startsWith(`INGOT_CONFIG: ${file}: `)).toBe(true);
    expect(message).toMatch(expected);
    expect(message).not.toContain('\n');
  });

  it('why it can’t be read', () => {
    expect(problem(() => readConfiguration(file))).toBe(`INGOT_CONFIG: ${file}: can't be read (ENOENT)`);
    expect(problem(() => readConfiguration(folder))).toBe(`INGOT_CONFIG: ${folder}: can't be read (EISDIR)`);
  });
});
