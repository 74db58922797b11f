import type { PeerCertificate } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { CertificateWayIn } from './certificate-way-in.ts';
import { certificateMappings, certificatesConfiguration } from './certificates-configuration.ts';
import type { IdentityEnds } from './identity-ends.ts';
import type { RequestSource } from './same-origin.ts';

const NOW = Date.parse('2026-05-01T12:00:00Z');
const ROLES = new Map([['on-call', new Set(['baremetal.v2.MachineService/RebootMachine'])]]);

const problems = (given: unknown): string[] => {
  const parsed = certificatesConfiguration.safeParse(given);
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};

const NEVER_REVOKED = { check: async () => null, forget: () => {} } as unknown as IdentityEnds;

async function identify(
  mappings: unknown,
  names: string,
  dates: Partial<PeerCertificate> = {},
  source: RequestSource | null = null,
) {
  const wayIn = new CertificateWayIn(
    certificateMappings(certificatesConfiguration.parse(mappings)),
    { roles: ROLES, publicUrl: null, ends: NEVER_REVOKED },
    () => NOW,
  );
  const certificate = {
    subjectaltname: names,
    valid_from: 'May  1 11:00:00 2026 GMT',
    valid_to: 'May  1 13:00:00 2026 GMT',
    ...dates,
  } as PeerCertificate;
  return wayIn.identify({
    authorization: undefined,
    cookie: undefined,
    certificate,
    address: '192.0.2.1',
    source,
  });
}

const OPS = { san: 'spiffe://acme/ops', role: 'operator' };

describe('a certificate', () => {
  it('has the role and the scope of its mapping, and ends with its own end', async () => {
    const identity = await identify([{ ...OPS, scope: 'customer_id=acme' }], 'URI:spiffe://acme/ops');
    expect(identity).toMatchObject({
      role: 'operator',
      methods: null,
      via: 'certificate',
      actor: { kind: 'operator', id: 'certificate:spiffe://acme/ops' },
      expiresAt: Date.parse('2026-05-01T13:00:00Z'),
    });
    expect(identity?.scope?.text).toBe('customer_id=acme');
  });

  it('is not taken from a browser that another site sends, and is from the console and from programs', async () => {
    const from = (fetchSite: string | undefined, origin?: string) => {
      const host = { host: 'ingot.example', protocol: 'https' };
      const source = { method: 'POST', ...host, fetchSite, origin, isUnattended: false };
      return identify([OPS], 'URI:spiffe://acme/ops', {}, source);
    };
    await expect(from('cross-site')).rejects.toThrow('must come from the console');
    await expect(from('same-site')).rejects.toThrow('must come from the console');
    await expect(from(undefined, 'https://evil.example')).rejects.toThrow('must come from the console');
    expect((await from('same-origin'))?.role).toBe('operator');
    expect((await from(undefined))?.role).toBe('operator');
  });

  it('may have a role of the configuration', async () => {
    const identity = await identify([{ san: 'a.example', role: 'on-call' }], 'DNS:a.example');
    expect(identity?.methods).toEqual(ROLES.get('on-call'));
  });

  it('with several names has the rights of the first mapping only', async () => {
    const both = [{ san: 'spiffe://acme/view', role: 'viewer' }, OPS];
    const identity = await identify(both, 'URI:spiffe://acme/ops, URI:spiffe://acme/view');
    expect(identity?.role).toBe('viewer');
  });

  it.each([
    ['without a mapping', 'URI:spiffe://acme/else', {}, 'no name of the client certificate is mapped'],
    ['without names', '', {}, 'no name of the client certificate is mapped'],
    ['of an agent', 'DNS:m.example', {}, "the client certificate is an agent's"],
    [
      'that has expired since',
      'URI:spiffe://acme/ops',
      { valid_to: 'May  1 11:59:59 2026 GMT' },
      'has expired',
    ],
    [
      'that is not valid yet',
      'URI:spiffe://acme/ops',
      { valid_from: 'May  1 12:00:01 2026 GMT' },
      'has expired',
    ],
  ])('%s is refused', async (_what, names, dates, message) => {
    const mappings = [OPS, { san: 'm.example', role: 'agent', machine_id: 'm' }];
    await expect(identify(mappings, names, dates)).rejects.toThrow(message);
  });
});

describe('a mapping is refused', () => {
  it.each([
    [{ san: 'spiffe://acme*', role: 'viewer' }, '0.san: must be a URI'],
    [{ san: '*', role: 'viewer' }, '0.san: must be a DNS name'],
    [{ ...OPS, scope: 'customer=acme' }, '0.scope: scope: '],
    [{ ...OPS, pool: 'gpu' }, '0.pool: is for the role agent only'],
    [{ ...OPS, machine_id: 'm' }, '0.machine_id: is for the role agent only'],
    [{ san: 'm.example', role: 'agent' }, '0.machine_id: is required for an agent'],
    [{ san: '*.m.example', role: 'agent', machine_id: 'm' }, '0.machine_id: is what the star'],
    [{ san: '*.m.example', role: 'agent', scope: 'pool=x' }, '0.scope: is not for agents'],
    [{ ...OPS, colour: 'red' }, '0: '],
  ])('%j', (mapping, problem) => {
    expect(problems([mapping])[0]).toContain(problem);
  });
});
