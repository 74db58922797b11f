/**
 * Whether a machine that asks for the installer of a node gets it. Everyone on the boot network can claim a MAC address, so the
 * address alone opens nothing: the boot must be expected, come from the network and the hardware that are known, and be the
 * only one. A boot counts as live from its fetch to some time after its last report; while it is, no other address is served.
 */
import type { Node } from '../node.ts';

/** The boot of the same installation that was seen last. */
export interface EarlierBoot {
  /** 0: an installer that reports without a token. */
  readonly bootNo: number;
  readonly address: string;
  /** When it fetched its script, or last reported. */
  readonly seenAt: Date;
}

/** What the machine says of itself, and where it is. */
export interface BootClaim {
  readonly address: string;
  /** Of its firmware; empty: not said. */
  readonly serialNumber: string;
  readonly systemUuid: string;
  /** The request already answers a question. */
  readonly isAnswer: boolean;
}

export interface BootRules {
  /** How long after an approval, a power cycle or a report a boot is expected. */
  readonly windowSeconds: number;
  /** How long after its last sign a boot counts as live. */
  readonly liveSeconds: number;
}

export interface BootCase {
  readonly node: Pick<Node, 'facts' | 'order' | 'stateChangedAt' | 'lastReportAt'>;
  readonly claim: BootClaim;
  /** Whether the address is in the networks that are configured for the machine. */
  readonly isInNetwork: boolean;
  readonly earlier: EarlierBoot | null;
  readonly rules: BootRules;
  readonly now: Date;
}

export type Admission =
  | { readonly verdict: 'admitted' }
  /** The firmware is asked for its serial number and UUID. */
  | { readonly verdict: 'ask' }
  /** The reason is shown on the console of the machine that asks: it has no value that a stranger could use. */
  | { readonly verdict: 'refused'; readonly reason: string }
  | { readonly verdict: 'conflict'; readonly reason: string; readonly earlier: EarlierBoot };

/** How the reason of such a refusal begins, which an approval resolves. */
export const NOT_EXPECTED = 'this boot is not expected';

export function admitBoot(boot: BootCase): Admission {
  const { node, claim, isInNetwork, earlier, rules, now } = boot;
  if (!isExpected(node, rules, now)) {
    return {
      verdict: 'refused',
      reason: `${NOT_EXPECTED}: nothing approved or power-cycled it in the last ${rules.windowSeconds} seconds`,
    };
  }
  if (!isInNetwork) return { verdict: 'refused', reason: 'it asks from another network than its own' };
  const hardware = judgeHardware(node.facts, claim);
  if (hardware.verdict !== 'admitted') return hardware;
  if (earlier !== null && isLive(earlier, node, rules, now) && earlier.address !== claim.address)
    return { verdict: 'conflict', reason: 'another boot of it is live at another address', earlier };
  return { verdict: 'admitted' };
}

export function isExpected(
  { order, stateChangedAt, lastReportAt }: BootCase['node'],
  { windowSeconds }: Pick<BootRules, 'windowSeconds'>,
  now: Date,
): boolean {
  const signs = [stateChangedAt, order.wantedAt, order.kickedAt, lastReportAt];
  const last = Math.max(...signs.map((at) => at?.getTime() ?? 0));
  return now.getTime() - last <= windowSeconds * 1000;
}

/** A power cycle of ours ends every boot that was seen before it. */
function isLive(
  { address, seenAt }: EarlierBoot,
  { order }: BootCase['node'],
  { liveSeconds }: BootRules,
  now: Date,
): boolean {
  if (address === '') return false;
  if (order.kickedAt !== null && order.kickedAt.getTime() > seenAt.getTime()) return false;
  return now.getTime() - seenAt.getTime() < liveSeconds * 1000;
}

function judgeHardware(known: BootCase['node']['facts'], claim: BootClaim): Admission {
  const isSaid = claim.serialNumber !== '' || claim.systemUuid !== '';
  const isKnown = known.serialNumber !== '' || known.systemUuid !== '';
  if (isKnown && !isSaid && !claim.isAnswer) return { verdict: 'ask' };
  if (known.serialNumber !== '' && serialKey(known.serialNumber) !== serialKey(claim.serialNumber))
    return { verdict: 'refused', reason: 'its serial number is not the known one' };
  if (known.systemUuid !== '' && !isSameUuid(known.systemUuid, claim.systemUuid))
    return { verdict: 'refused', reason: 'its system UUID is not the known one' };
  return { verdict: 'admitted' };
}

function serialKey(text: string): string {
  return text.trim().toLowerCase();
}

/** Firmware before SMBIOS 2.6 has the first three fields in the other byte order, and readers differ about it. */
function isSameUuid(known: string, said: string): boolean {
  const [a, b] = [uuidDigits(known), uuidDigits(said)];
  return a === b || (a.length === 32 && a === otherByteOrder(b));
}

function uuidDigits(text: string): string {
  return text.trim().toLowerCase().replaceAll('-', '');
}

function otherByteOrder(digits: string): string {
  const bytes = digits.match(/../g) ?? [];
  const reversed = (from: number, to: number) => bytes.slice(from, to).reverse();
  return [...reversed(0, 4), ...reversed(4, 6), ...reversed(6, 8), ...bytes.slice(8)].join('');
}
