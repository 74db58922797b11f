import { textOf } from './extended-error.ts';
import type { VendorQuirk } from './vendor-quirk.ts';

/** What people call an entry of the firmware inventory; empty: nothing. */
export function firmwareName(
  { Name: name, Description: description }: Readonly<Record<string, unknown>>,
  knownBy: VendorQuirk['firmwareKnownBy'],
): string {
  const purpose = knownBy === 'purpose' ? /^(.+) image$/.exec(textOf(description))?.[1] : undefined;
  return purpose ?? textOf(name);
}
