import { textOf } from '../connection/answer-fields.ts';
import type { VendorQuirk } from '../service/vendor-quirk.ts';

/** The version of an entry of the firmware inventory; empty: it has none. */
export function firmwareVersion(
  { Version: version }: Readonly<Record<string, unknown>>,
  { versionIn }: Pick<VendorQuirk, 'versionIn'>,
): string {
  const text = textOf(version).trim();
  return versionIn?.exec(text)?.[1] ?? text;
}

/** What people call an entry of the firmware inventory; empty: nothing. */
export function firmwareName(
  { Name: name, Description: description }: Readonly<Record<string, unknown>>,
  { firmwareKnownBy: knownBy }: Pick<VendorQuirk, 'firmwareKnownBy'>,
): string {
  const purpose = knownBy === 'purpose' ? /^(.+) image$/.exec(textOf(description))?.[1] : undefined;
  return purpose ?? textOf(name);
}
