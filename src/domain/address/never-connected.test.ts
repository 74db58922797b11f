import { describe, expect, it } from 'vitest';
import { contains, parseAddress, parseNetwork } from './network.ts';
import { hostProblem } from './never-connected.ts';

describe('addresses that are never connected to', () => {
  it.each([
    ['169.254.169.254', 'metadata'],
    ['2852039166', 'metadata'],
    ['0xa9fea9fe', 'metadata'],
    ['169.254.43518', 'metadata'],
    ['::ffff:169.254.169.254', 'metadata'],
    ['[::ffff:a9fe:a9fe]', 'metadata'],
    ['::a9fe:a9fe', 'metadata'],
    ['64:ff9b::a9fe:a9fe', 'metadata'],
    ['2002:a9fe:a9fe::1', 'metadata'],
    ['fd00:ec2::254', 'metadata'],
    ['FD00:0EC2:0:0:0:0:0:0254', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['169.254.1.1', 'link-local'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['febf::1', 'link-local'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['0.0.0.0', 'unspecified'],
    ['0', 'unspecified'],
    ['::', 'unspecified'],
    ['::ffff:0.0.0.0', 'unspecified'],
    ['240.0.0.1', 'reserved'],
  ])('%s', (host, what) => {
    expect(hostProblem(host)).toContain(what);
  });

  it.each([
    ['10.0.0.5'],
    ['192.168.1.1'],
    ['127.0.0.1'],
    ['::1'],
    ['[2001:db8::1]'],
    ['fd12::1'],
    ['169.253.255.255'],
    ['169.255.0.1'],
    ['bmc-1.example'],
    ['feed'],
    ['64:ff9b::a00:1'],
  ])('but not %s', (host) => {
    expect(hostProblem(host)).toBeNull();
  });
});

describe('networks', () => {
  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['10.0.0.128/25', '10.0.0.127', false],
    ['0.0.0.0/0', '192.0.2.1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['fd00::/8', 'fd12:3456::1', true],
    ['fd00::/8', 'fe12::1', false],
  ])('%s and %s: %s', (network, address, expected) => {
    const parsed = parseNetwork(network);
    const bytes = parseAddress(address);
    expect(parsed && bytes && contains(parsed, bytes)).toBe(expected);
  });

  it.each(['10.0.0.0/33', 'fd00::/129', 'site-a', '10.0.0/8', '', '10.0.0.0/', '1'])(
    '%s is not a network',
    (text) => {
      expect(parseNetwork(text)).toBeNull();
    },
  );
});
