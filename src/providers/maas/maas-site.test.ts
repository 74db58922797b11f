import type { lookup } from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ANY_ADDRESS } from '../../../test/parts/any-address.ts';
import { createAddressRules } from '../../connections/address-rules.ts';
import {
  createCredentialSources,
  credentialsConfiguration,
  type SourceOfMachine,
  sourceOfMachine,
} from '../../connections/credential-source.ts';
import { sampleMachine } from '../../domain/machine/machine.fixture.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import { maasConfiguration } from './maas-configuration.ts';
import { createMaasSite } from './maas-site.ts';

let dir: string;
const file = (name: string) => join(dir, name);

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'ingot-maas-site-'));
  writeFileSync(file('key'), 'a:b:c\n');
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function siteWith(
  fields: Readonly<Record<string, unknown>>,
  credentials: SourceOfMachine = () => null,
  rule = ANY_ADDRESS.machines,
) {
  writeFileSync(file('password'), 'first\n');
  const url = 'https://maas.example.com/MAAS';
  const given = { kind: 'maas', url, api_key_file: file('key'), ...fields };
  return createMaasSite('site-a', maasConfiguration.parse(given), {
    rule,
    credentials,
  });
}

const IPMI = () => ({ power: { type: 'ipmi', user: 'admin', password_file: file('password') } });
const REDFISH = () => ({ power: { type: 'redfish', user: 'admin', password_file: file('password') } });

const machineAt = (bmc_endpoint: string) => {
  const machine = sampleMachine();
  return { ...machine, spec: { ...machine.spec, bmc_endpoint } };
};

const signal = new AbortController().signal;

async function failureOf(work: () => unknown) {
  try {
    await work();
  } catch (error) {
    if (error instanceof StepFailure) return error.failure;
    throw error;
  }
  throw new Error('it did not fail');
}

test('the password is read when it is wanted, so a new one counts at once', async () => {
  const site = siteWith(IPMI());
  const passwordOf = async () =>
    (await site.resolvePower(machineAt('10.0.0.7'), signal)).powerParameters.power_pass;
  expect(await passwordOf()).toBe('first');
  writeFileSync(file('password'), 'second\n');
  expect(await passwordOf()).toBe('second');
  rmSync(file('password'));
  expect(await failureOf(passwordOf)).toMatchObject({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE' });
});

test('a login for each machine comes from its source, and so does that of a machine that names its own', async () => {
  const sources = createCredentialSources(
    credentialsConfiguration.parse({
      bmcs: { kind: 'directory', path: dir, file: '{machine_id}.json' },
      odd: { kind: 'file', path: file('odd.json'), per_machine: true },
    }),
    { rule: ANY_ADDRESS.servers, monotonicNow: () => 0 },
  );
  const site = siteWith(
    { power: { type: 'ipmi', user: 'admin', credentials: 'bmcs' } },
    sourceOfMachine(sources, 'bmc_credentials_ref', 'bmcs'),
  );
  const loginOf = async (machine = machineAt('10.0.0.7')) =>
    (await site.resolvePower(machine, signal)).powerParameters;
  const own = file(`${sampleMachine().machineId}.json`);
  expect(await failureOf(loginOf)).toMatchObject({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE' });
  writeFileSync(own, '{"password": "of this one"}');
  expect(await loginOf()).toMatchObject({ power_user: 'admin', power_pass: 'of this one' });
  writeFileSync(own, '{"username": "root", "password": "rotated"}');
  expect(await loginOf()).toMatchObject({ power_user: 'root', power_pass: 'rotated' });
  writeFileSync(own, '{"username": "root"}');
  expect((await failureOf(loginOf)).message).toContain('has no password');
  writeFileSync(file('odd.json'), 'odd one out');
  const machine = machineAt('10.0.0.7');
  const odd = { ...machine, spec: { ...machine.spec, bmc_credentials_ref: 'odd' } };
  site.checkPower(odd);
  expect(await loginOf(odd)).toMatchObject({ power_user: 'admin', power_pass: 'odd one out' });
  const wrong = { ...machine, spec: { ...machine.spec, bmc_credentials_ref: 'bmcs' } };
  expect((await failureOf(() => site.checkPower(wrong))).code).toBe('CREDENTIAL_UNREADABLE');
});

test('IPMI takes the address of the machine’s BMC, at its own port', async () => {
  const site = siteWith(IPMI());
  const addressOf = async (endpoint: string) =>
    (await site.resolvePower(machineAt(endpoint), signal)).powerParameters.power_address;
  expect(await addressOf('bmc-7.example.com')).toBe('bmc-7.example.com');
  expect(await addressOf('10.0.0.7:623')).toBe('10.0.0.7');
  expect(await addressOf('[fd00::7]')).toBe('fd00::7');
  for (const wrong of ['', 'https://10.0.0.7', '10.0.0.7:624']) {
    expect(await failureOf(() => addressOf(wrong))).toMatchObject({
      class: 'needs_human',
      code: 'NO_BMC_ENDPOINT',
    });
  }
});

test('MAAS gets the address that was checked, not a name that it would look up itself', async () => {
  const answers: Record<string, string> = { 'bmc.example': 'fd00::7', 'metadata.example': '169.254.169.254' };
  const resolve = ((
    name: string,
    _options: unknown,
    done: (error: Error | null, found: unknown[]) => void,
  ) => {
    const address = answers[name];
    if (address === undefined)
      return done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);
    done(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
  }) as unknown as typeof lookup;
  const { machines } = createAddressRules({ allowedNetworks: ['fd00::/8'], loopback: 'allowed', resolve });
  const addressOf = async (fields: ReturnType<typeof IPMI>, endpoint: string) =>
    (await siteWith(fields, undefined, machines).resolvePower(machineAt(endpoint), signal)).powerParameters
      .power_address;
  expect(await addressOf(IPMI(), 'bmc.example')).toBe('fd00::7');
  expect(await addressOf(REDFISH(), 'https://bmc.example:8443')).toBe('https://[fd00::7]:8443');
  expect(await addressOf(REDFISH(), 'https://[fd00::9]')).toBe('https://[fd00::9]');
  for (const name of ['metadata.example', 'only-there.example'])
    expect(await failureOf(() => addressOf(IPMI(), name))).toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' });
});

test('Redfish takes it as it is', async () => {
  const site = siteWith(REDFISH());
  expect(await site.resolvePower(machineAt('https://10.0.0.7'), signal)).toEqual({
    powerType: 'redfish',
    powerParameters: { power_address: 'https://10.0.0.7', power_user: 'admin', power_pass: 'first' },
  });
  expect(await failureOf(() => site.resolvePower(machineAt(''), signal))).toMatchObject({
    code: 'NO_BMC_ENDPOINT',
  });
});

test('a site that says nothing about power can add no machine', async () => {
  const failure = await failureOf(() => siteWith({}).resolvePower(machineAt('10.0.0.7'), signal));
  expect(failure).toMatchObject({ class: 'needs_human', code: 'NO_POWER_CREDENTIALS' });
  expect(await siteWith({ power: { type: 'manual' } }).resolvePower(machineAt(''), signal)).toEqual({
    powerType: 'manual',
    powerParameters: {},
  });
});

test('the boot disk is the one whose model has the site’s word in it', () => {
  const site = siteWith({ storage: { boot_disk_model: 'boss' } });
  const disk = (model: string) => ({ id: 1, name: 'sda', model, sizeBytes: 1 });
  expect(site.isBootDisk(disk('DELLBOSS VD'))).toBe(true);
  expect(site.isBootDisk(disk('SAMSUNG MZWLJ'))).toBe(false);
});

test('the template is read when it is wanted', () => {
  expect(siteWith({}).readUserDataTemplate()).toBeNull();
  writeFileSync(file('template'), '#cloud-config\npackages: [jq]\n');
  const site = siteWith({ deploy: { user_data_template: file('template') } });
  expect(site.readUserDataTemplate()).toContain('packages: [jq]');
});
