import { describe, expect, it } from 'vitest';
import { audiencesOf, mappedRoleProblem, oidcConfiguration, sentToken } from './oidc-configuration.ts';

const GOOD = {
  name: 'corp',
  issuer: 'https://sso.example.com',
  client_id: 'ingot',
  mappings: [{ claim: 'groups', value: 'ops', role: 'operator', scope: 'customer_id=acme' }],
};

function problemWith(change: object, other: readonly object[] = []): string {
  const issue = oidcConfiguration.safeParse([{ ...GOOD, ...change }, ...other]).error?.issues[0];
  return issue ? `${issue.path.join('.')}: ${issue.message}` : '';
}

describe('an issuer in the configuration', () => {
  it('is https, or on loopback', () => {
    expect(problemWith({})).toBe('');
    for (const issuer of ['http://127.0.0.1:3000', 'http://localhost:3000/x', 'http://[::1]:3000'])
      expect(problemWith({ issuer })).toBe('');
    for (const issuer of ['http://sso.example.com', 'http://127.0.0.1.evil.example', 'http://10.0.0.1'])
      expect(problemWith({ issuer })).toBe('0.issuer: must be https, unless it is on loopback');
    expect(problemWith({ issuer: 'ftp://x' })).toContain('0.issuer: must be an https URL');
    expect(problemWith({ issuer: 'https://sso.example.com/?x' })).toContain('no query');
  });

  it('has a mapping at least, with a scope that is a filter', () => {
    expect(problemWith({ mappings: [] })).toContain('0.mappings: must have a mapping at least');
    const mapping = { claim: 'groups', value: 'ops', role: 'operator', scope: 'nonsense ===' };
    expect(problemWith({ mappings: [mapping] })).toContain('0.mappings.0.scope: ');
  });

  it('maps to roles that there are', () => {
    const mappings = [{ claim: 'groups', value: 'ops', role: 'root' }];
    const issuers = oidcConfiguration.parse([{ ...GOOD, mappings }]);
    expect(mappedRoleProblem(issuers, new Map())).toBe(
      'oidc.0.mappings.0.role: there is no role "root"; there are viewer, operator, admin',
    );
    expect(mappedRoleProblem(issuers, new Map([['root', new Set<string>()]]))).toBeNull();
  });

  it('has a name of its own, and files that can be read', () => {
    expect(problemWith({}, [{ ...GOOD, issuer: 'https://other.example' }])).toContain('1.name: ');
    expect(problemWith({}, [{ ...GOOD, name: 'other' }])).toContain('1.issuer: ');
    expect(problemWith({ name: 'Corp:x' })).toContain('0.name: ');
    expect(problemWith({ client_secret_file: '/nonexistent' })).toContain(
      "0.client_secret_file: /nonexistent can't",
    );
    expect(problemWith({ scopes: ['profile'] })).toBe('0.scopes: must have openid');
  });

  it('expects its own clients, unless there is an audience', () => {
    const read = (change: object) => {
      const [issuer] = oidcConfiguration.parse([{ ...GOOD, ...change }]);
      if (!issuer) throw new Error('no issuer');
      return { audiences: audiencesOf(issuer), ...sentToken(issuer) };
    };
    expect(read({ cli_client_id: 'cli' })).toEqual({
      audiences: ['ingot', 'cli'],
      token: 'id_token',
      resource: '',
    });
    expect(read({ audience: 'urn:x' })).toEqual({
      audiences: ['urn:x'],
      token: 'access_token',
      resource: 'urn:x',
    });
  });
});
