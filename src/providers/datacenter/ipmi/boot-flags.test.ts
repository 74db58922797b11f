import { expect, it } from 'vitest';
import { parseBootFlags } from './boot-flags.ts';

const STRICT = { boot: { persistent: false, efi: false, ignore_valid_bit: false, patience_seconds: 900 } };
const LENIENT = { boot: { ...STRICT.boot, ignore_valid_bit: true } };

/** As ipmitool 1.8.19 prints them. */
const flags = (valid: 'Valid' | 'Invalid', selector: string) => `Boot parameter version: 1
Boot parameter 5 is valid/unlocked
Boot parameter data: 8004000000
 Boot Flags :
   - Boot Flag ${valid}
   - Options apply to only next boot
   - BIOS PC Compatible (legacy) boot 
   - Boot Device Selector : ${selector}
   - BIOS verbosity : System Default
`;

it.each([
  ['Force PXE', 'pxe'],
  ['Force Boot from default Hard-Drive', 'disk'],
  ['No override', 'none'],
  ['Force Boot from CD/DVD', 'cdrom'],
  ['Force Boot into BIOS Setup', 'bios'],
  ['Force Boot from Floppy/primary removable media', 'other'],
])('%s is %s', (selector, device) => {
  expect(parseBootFlags(flags('Valid', selector), STRICT)).toBe(device);
});

it('a flag that is not valid any more selects nothing, though its device is still there', () => {
  expect(parseBootFlags(flags('Invalid', 'Force PXE'), STRICT)).toBe('none');
});

it('a BMC that never marks its flags as valid may be trusted without the mark', () => {
  expect(parseBootFlags(flags('Invalid', 'Force PXE'), LENIENT)).toBe('pxe');
});

it('what is no boot flags is not read as some', () => {
  expect(parseBootFlags('Boot parameter 5 is invalid/locked\n', STRICT)).toBeNull();
  expect(parseBootFlags('', LENIENT)).toBeNull();
});
