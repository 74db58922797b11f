/** The boot flags of a BMC, as `ipmitool chassis bootparam get 5` prints them. */
import type { BmcConfiguration } from '../bmc/bmc-configuration.ts';

/** In the words of ipmitool. `none`: the machine boots as its firmware is set up. */
export type IpmiBootDevice = 'pxe' | 'disk' | 'cdrom' | 'bios' | 'none' | 'other';

const SELECTORS: Readonly<Record<string, IpmiBootDevice>> = {
  'No override': 'none',
  'Force PXE': 'pxe',
  'Force Boot from default Hard-Drive': 'disk',
  'Force Boot from CD/DVD': 'cdrom',
  'Force Boot into BIOS Setup': 'bios',
};

/** What the flags say beside the device. */
export function parseBootOptions(text: string): { readonly lasts: boolean; readonly efi: boolean } {
  return {
    lasts: /^ *- Options apply to all future boots/m.test(text),
    efi: /^ *- BIOS EFI boot/m.test(text),
  };
}

/**
 * Null when there are no boot flags in the text. Flags that are not valid select nothing, whatever device they name:
 * that is how a BMC shows that a flag for one boot was used up.
 */
export function parseBootFlags(
  text: string,
  { boot }: { readonly boot: Pick<BmcConfiguration['boot'], 'ignore_valid_bit'> },
): IpmiBootDevice | null {
  const [, selector] = /^ *- Boot Device Selector *: *(.*?) *$/m.exec(text) ?? [];
  if (selector === undefined) return null;
  const valid = /^ *- Boot Flag Valid *$/m.test(text);
  if (!valid && !boot.ignore_valid_bit) return 'none';
  return SELECTORS[selector] ?? 'other';
}
