import { expect, it } from 'vitest';
import { diskWords, readDiskSize } from './disk-rule.ts';
import { CMDLINE_RULE } from './install-profile.ts';

it('goes to the command line in characters that it can carry', () => {
  const words = diskWords({
    pick: 'smallest',
    model: 'Samsung SSD 970 EVO*',
    serial: 'S4/A+(1)#&~',
    minBytes: 1000,
    maxBytes: 2000,
    usb: true,
  });
  expect(words).toEqual([
    'ingot.disk.pick=smallest',
    'ingot.disk.model=Samsung%20SSD%20970%20EVO*',
    'ingot.disk.serial=S4%2FA%2B%281%29%23%26%7E',
    'ingot.disk.min=1000',
    'ingot.disk.max=2000',
    'ingot.disk.usb=yes',
  ]);
  expect(words.join(' ')).toMatch(CMDLINE_RULE);
  expect(diskWords(null)).toEqual([]);
});

it('reads sizes as people write them', () => {
  for (const [text, bytes] of [
    ['480000000000', 480_000_000_000],
    ['1K', 1024],
    ['1.5 GiB', 1.5 * 2 ** 30],
    ['2t', 2 * 2 ** 40],
    ['447GB', 447 * 2 ** 30],
  ] as const)
    expect(readDiskSize(text)).toBe(bytes);
  for (const text of ['', '0', '-1', '1P', 'G', '1e9', '999999999999999T'])
    expect(readDiskSize(text)).toBeNull();
});
