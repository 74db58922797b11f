import { expect, it } from 'vitest';
import { SecretMask } from './secret-mask.ts';

const TEXT =
  'Command line: BOOT_IMAGE=k ingot.token=abc-DEF_1.2~x ingot.url=http://h\r\nhttp://h/boot/once/Zz9/installer.efi\r\ningot.token=\r\n';
const HIDDEN =
  'Command line: BOOT_IMAGE=k ingot.token=*** ingot.url=http://h\r\nhttp://h/boot/once/***/installer.efi\r\ningot.token=***\r\n';

it.each([1, 2, 3, 7, 64, 1000])('hides secrets in pieces of %i bytes', (size) => {
  const mask = new SecretMask();
  let shown = '';
  for (let at = 0; at < TEXT.length; at += size)
    shown += Buffer.from(mask.hide(Buffer.from(TEXT.slice(at, at + size)))).toString();
  expect(shown).toBe(HIDDEN);
});

it('leaves every other byte as it is', () => {
  const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
  expect(Buffer.from(new SecretMask().hide(bytes))).toEqual(bytes);
  expect(Buffer.from(new SecretMask().hide(Buffer.from('iingot.tokens /boot/onc e')))).toEqual(
    Buffer.from('iingot.tokens /boot/onc e'),
  );
});
