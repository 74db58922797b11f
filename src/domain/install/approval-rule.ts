/** Which discovered nodes are approved without a person: the rules of the configuration, in their order. */
import type { HardwareFacts } from './node.ts';

export interface ApprovalRule {
  /** For the history. */
  readonly name: string;
  /**
   * Conditions by kind; an empty list is no condition. A node must match one member of every list that is not empty.
   */
  readonly macPrefixes: readonly string[];
  readonly vendors: readonly string[];
  readonly serialNumbers: readonly string[];
  /** For a node without an install profile; empty: the default. */
  readonly profile: string;
}

interface Candidate {
  readonly macAddress: string;
  readonly facts: Pick<HardwareFacts, 'vendor' | 'serialNumber'>;
}

/** The first rule that matches; null: a person decides. */
export function matchingRule(
  rules: readonly ApprovalRule[],
  { macAddress, facts }: Candidate,
): ApprovalRule | null {
  const vendor = facts.vendor.toLowerCase();
  const serial = facts.serialNumber.toLowerCase();
  const says = (list: readonly string[], matches: (entry: string) => boolean) =>
    list.length === 0 || list.some(matches);
  const found = rules.find(
    (rule) =>
      says(rule.macPrefixes, (prefix) => macAddress.startsWith(prefix)) &&
      says(rule.vendors, (known) => vendor !== '' && known.toLowerCase() === vendor) &&
      says(rule.serialNumbers, (known) => serial !== '' && known.toLowerCase() === serial),
  );
  return found ?? null;
}
