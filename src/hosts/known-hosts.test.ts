import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KnownHosts } from './known-hosts.ts';

const [KEY, OTHER] = [Buffer.from('the key of the host'), Buffer.from('some other key')];
const line = (names: string, key = KEY) => `${names} ssh-ed25519 ${key.toString('base64')} a comment`;
const at = (host: string, port = 22) => ({ host, port });
const verdict = (text: string, endpoint = at('node-1.example'), key = KEY) =>
  new KnownHosts(text).verdict(endpoint, key);

function hashed(name: string): string {
  const salt = Buffer.from('01234567890123456789');
  return `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`;
}

describe('a host is known', () => {
  it.each([
    ['by its name', 'node-1.example', at('node-1.example')],
    ['however it is written', 'Node-1.Example', at('NODE-1.example')],
    ['as one of several', '10.0.0.1,node-1.example', at('node-1.example')],
    ['with its port', '[node-1.example]:2222', at('node-1.example', 2222)],
    ['by an IPv6 address', '[fe80::1]:2222', at('fe80::1', 2222)],
    ['by a hash', hashed('node-1.example'), at('node-1.example')],
    ['by a hash with its port', hashed('[node-1.example]:2222'), at('node-1.example', 2222)],
    ['by a pattern', '*.example,!node-2.example', at('node-1.example')],
    ['by a pattern for one character', 'node-?.example', at('node-1.example')],
  ])('%s', (_how, names, endpoint) => {
    expect(verdict(line(names), endpoint)).toEqual({ ok: true });
  });

  it('with any of its keys', () => {
    expect(verdict(`${line('node-1.example', OTHER)}\n${line('node-1.example')}`)).toEqual({ ok: true });
  });
});

describe('a host is not known', () => {
  it.each([
    ['by nothing', '', at('node-1.example')],
    ['by another name', line('node-2.example'), at('node-1.example')],
    ['at another port', line('node-1.example'), at('node-1.example', 2222)],
    ['without the port', line('[node-1.example]:2222'), at('node-1.example')],
    ['by a comment', `# ${line('node-1.example')}`, at('node-1.example')],
    ['by a line without a key', 'node-1.example ssh-ed25519', at('node-1.example')],
    ['by a pattern that leaves it out', line('*.example,!node-1.example'), at('node-1.example')],
    ['by a dot that is a dot', line('node-1?example.org'), at('node-1.exampleXorg')],
    ['by a certificate authority', `@cert-authority ${line('*')}`, at('node-1.example')],
  ])('%s', (_how, text, endpoint) => {
    expect(verdict(text, endpoint)).toEqual({ ok: false, problem: 'unknown' });
  });
});

it('another key than the known one is a change', () => {
  expect(verdict(line('node-1.example', OTHER))).toEqual({ ok: false, problem: 'changed' });
});

it('a revoked key is refused, also where it is known', () => {
  const text = `${line('node-1.example')}\n@revoked ${line('*')}`;
  expect(verdict(text)).toEqual({ ok: false, problem: 'revoked' });
});

it('a key that its deployment gave a host counts beside those of the file, for that host alone', () => {
  const deployed = Buffer.from('deployed');
  const known = new KnownHosts('host-a ssh-ed25519 b25l').with(
    { host: 'host-a', port: 22 },
    `ssh-ed25519 ${deployed.toString('base64')}`,
  );
  expect(known.verdict({ host: 'host-a', port: 22 }, deployed)).toEqual({ ok: true });
  expect(known.verdict({ host: 'host-a', port: 22 }, Buffer.from('one'))).toEqual({ ok: true });
  expect(known.verdict({ host: 'host-a', port: 22 }, Buffer.from('two'))).toEqual({
    ok: false,
    problem: 'changed',
  });
  expect(known.verdict({ host: 'host-b', port: 22 }, deployed)).toEqual({ ok: false, problem: 'unknown' });
});
