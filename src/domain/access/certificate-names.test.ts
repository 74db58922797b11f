import { describe, expect, it } from 'vitest';
import { certificateNames, matchName, type NamePattern, parseNamePattern } from './certificate-names.ts';

describe('the names of a certificate', () => {
  it('are its DNS names and URIs, in the order of the certificate', () => {
    expect(certificateNames('DNS:Ops.Example.com, IP Address:192.0.2.7, URI:spiffe://acme/Ops')).toEqual([
      { kind: 'DNS', value: 'ops.example.com' },
      { kind: 'URI', value: 'spiffe://acme/Ops' },
    ]);
    expect(certificateNames(undefined)).toEqual([]);
    expect(certificateNames('')).toEqual([]);
  });

  it('can not smuggle in another name', () => {
    // As Node.js writes a URI that has a comma in it.
    expect(certificateNames('URI:"spiffe://a/x, URI:spiffe://acme/ops"')).toEqual([
      { kind: 'URI', value: 'spiffe://a/x, URI:spiffe://acme/ops' },
    ]);
    expect(certificateNames('URI:spiffe://a/x, \u0000DNS:admin')).toEqual([]);
    expect(certificateNames('DNS:a"b')).toEqual([]);
  });
});

const match = (pattern: string, text: string): string | null => {
  const parsed = parseNamePattern(pattern);
  if (typeof parsed === 'string') throw new Error(parsed);
  return (
    certificateNames(text)
      .map((name) => matchName(parsed as NamePattern, name))
      .find((found) => found !== null) ?? null
  );
};

describe('a pattern', () => {
  it.each([
    ['spiffe://acme/ops', 'URI:spiffe://acme/ops', ''],
    ['spiffe://acme/ops', 'URI:spiffe://acme/ops/more', null],
    ['spiffe://acme/ops', 'URI:spiffe://acme/OPS', null],
    ['spiffe://acme/ops', 'DNS:spiffe://acme/ops', null],
    ['spiffe://acme/machine/*', 'URI:spiffe://acme/machine/m-7', 'm-7'],
    ['spiffe://acme/machine/*', 'URI:spiffe://acme/machines/m-7', null],
    ['ops.example.com', 'DNS:x, DNS:OPS.example.com', ''],
    ['ops.example.com', 'DNS:an.ops.example.com', null],
    ['*.machines.example.com', 'DNS:m-7.machines.example.com', 'm-7'],
    ['*.machines.example.com', 'DNS:a.b.machines.example.com', null],
    ['*.machines.example.com', 'DNS:machines.example.com', null],
    ['*.machines.example.com', 'DNS:*.machines.example.com', null],
  ])('%s for %s leaves %j', (pattern, text, rest) => {
    expect(match(pattern, text)).toBe(rest);
  });

  it.each(['*', '', 'spiffe://acme*', 'spiffe://*', '*.', 'a b', 'ops*', 'spiffe://acme/*/x', 'https://'])(
    '%j is refused',
    (pattern) => {
      expect(parseNamePattern(pattern)).toMatch(/^must be /);
    },
  );
});
