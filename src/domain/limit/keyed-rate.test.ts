import { expect, it } from 'vitest';
import { clientKey, networkKey } from './address-key.ts';
import { KeyedRate } from './keyed-rate.ts';

function clock() {
  let now = 0;
  return {
    now: () => now,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

it('takes a burst, refuses what follows, and says when there is room again', () => {
  const { now, pass } = clock();
  const rate = new KeyedRate({ perSecond: 2, burst: 3 }, now);
  expect([rate.take('a'), rate.take('a'), rate.take('a')]).toEqual([null, null, null]);
  expect(rate.take('a')).toBe(0.5);
  expect(rate.take('b')).toBeNull();
  pass(250);
  expect(rate.take('a')).toBe(0.25);
  pass(250);
  expect(rate.take('a')).toBeNull();
  expect(rate.take('a')).toBe(0.5);
});

it('has no limit when the rate is zero', () => {
  const rate = new KeyedRate({ perSecond: 0, burst: 0 }, () => 0);
  for (let count = 0; count < 1_000; count += 1) expect(rate.take('a')).toBeNull();
});

it('keeps the busy keys when there are too many', () => {
  const { now, pass } = clock();
  const rate = new KeyedRate({ perSecond: 1, burst: 1 }, now, 10);
  expect(rate.take('busy')).toBeNull();
  for (let other = 0; other < 900; other += 1) {
    rate.take(`other-${other}`);
    pass(1);
    expect(rate.take('busy'), String(other)).toBeGreaterThan(0);
  }
});

it.each([
  ['10.1.2.3', '10.1.2.3', '10.1.2.0/24'],
  ['::ffff:10.1.2.3', '10.1.2.3', '10.1.2.0/24'],
  ['2001:db8:0:7::1', '2001:db8:0:7::/64', '2001:db8:0:7::/64'],
  ['2001:DB8:0:7:aaaa::2', '2001:db8:0:7::/64', '2001:db8:0:7::/64'],
  ['::1', '0:0:0:0::/64', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64', 'fe80:0:0:0::/64'],
  ['', '', ''],
])('of %s the client is %s and the network %s', (address, client, network) => {
  expect([clientKey(address), networkKey(address)]).toEqual([client, network]);
});
