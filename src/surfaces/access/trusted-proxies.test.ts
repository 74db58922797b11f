import { expect, it } from 'vitest';
import { TrustedProxies } from './trusted-proxies.ts';

const proxies = new TrustedProxies(['10.0.0.0/8', 'fd00::/8']);

it.each([
  ['no header', '10.0.0.1', undefined, '10.0.0.1'],
  ['a caller of the proxy', '10.0.0.1', '192.0.2.7', '192.0.2.7'],
  ['the proxy as a mapped address', '::ffff:10.0.0.1', '192.0.2.7', '192.0.2.7'],
  ['a proxy of IPv6', 'fd00::1', '2001:db8::7', '2001:db8::7'],
  ['a header from elsewhere', '192.0.2.9', '10.0.0.1, 192.0.2.7', '192.0.2.9'],
  ['words of the caller before its address', '10.0.0.1', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
  ['two proxies in a row', '10.0.0.1', '198.51.100.1, 192.0.2.7, 10.0.0.2', '192.0.2.7'],
  ['nothing but proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['a port', '10.0.0.1', '192.0.2.7:4711', '192.0.2.7'],
  ['a port of IPv6', '10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['no address', '10.0.0.1', 'unknown', '10.0.0.1'],
  ['no address behind a proxy', '10.0.0.1', '192.0.2.7, <script>, 10.0.0.2', '10.0.0.2'],
  ['an empty header', '10.0.0.1', '', '10.0.0.1'],
  ['a header that is far too long', '10.0.0.1', `${'192.0.2.7, '.repeat(1_000)}192.0.2.8`, '10.0.0.1'],
])('%s', (_what, peer, header, caller) => {
  expect(proxies.callerOf(peer, header)).toBe(caller);
});

it('believes no header where no proxy is trusted', () => {
  expect(new TrustedProxies([]).callerOf('10.0.0.1', '192.0.2.7')).toBe('10.0.0.1');
});
