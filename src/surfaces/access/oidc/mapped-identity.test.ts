import { describe, expect, it } from 'vitest';
import { mappedIdentity } from './mapped-identity.ts';
import { oidcConfiguration } from './oidc-configuration.ts';

const [issuer] = oidcConfiguration.parse([
  {
    name: 'corp',
    issuer: 'https://sso.example.com',
    client_id: 'ingot',
    mappings: [
      { claim: 'groups', value: 'ops', role: 'operator' },
      { claim: 'realm.roles', value: 'fleet', role: 'viewer' },
      { claim: 'https://example.com/admin', value: 'true', role: 'admin' },
    ],
  },
]);
if (!issuer) throw new Error('no issuer');

const roleOf = (claims: Readonly<Record<string, unknown>>) =>
  mappedIdentity(issuer, new Map(), { sub: 'anna', ...claims }).role;
const refusal = (claims: Readonly<Record<string, unknown>>) => () => roleOf(claims);

describe('a claim of groups', () => {
  it('is a text or a list of texts, however long', () => {
    expect(roleOf({ groups: 'ops' })).toBe('operator');
    expect(roleOf({ groups: ['guests', 'ops'] })).toBe('operator');
    const many = Array.from({ length: 100_000 }, (_, n) => `group-${n}`);
    expect(roleOf({ groups: [...many, 'ops'] })).toBe('operator');
    expect(refusal({ groups: many })).toThrow('no mapping of corp matches');
  });

  it('matches as a whole, and not by what a text has in it', () => {
    for (const groups of ['ops,admins', 'opsx', ' ops', 'OPS', '', ['ops '], [['o', 'ps']]])
      expect(refusal({ groups })).toThrow('no mapping of corp matches');
  });

  it('opens nothing where it is of another kind', () => {
    for (const groups of [null, {}, { ops: true }, { value: 'ops' }, 7, true, [{ name: 'ops' }], [null]])
      expect(refusal({ groups })).toThrow('no mapping of corp matches');
    expect(refusal({})).toThrow('no mapping of corp matches');
    // Neither a name that every object has, nor one of its prototype, is a claim.
    expect(refusal({ realm: { constructor: 'fleet', __proto__: { roles: 'fleet' } } })).toThrow('no mapping');
  });

  it('may be inside of another claim, or have dots in its name', () => {
    expect(roleOf({ realm: { roles: ['fleet'] } })).toBe('viewer');
    expect(roleOf({ 'realm.roles': 'fleet' })).toBe('viewer');
    expect(roleOf({ 'https://example.com/admin': true })).toBe('admin');
  });
});

it('a name that confuses terminals, or is too long, is refused', () => {
  for (const sub of ['', 'a\u001b[2J', 'a\nb', 'x'.repeat(129), '\ud800', {}, null])
    expect(refusal({ sub, groups: 'ops' })).toThrow('no usable claim sub');
});
