/**
 * What a machine says about its hardware, and who may say it. A boot with its token replaces facts. An installer without one
 * only adds what was not known, and so does anyone for a machine that still waits for approval: the facts of an approved
 * one decide what it may boot.
 */
import type { FactName, HardwareFacts, Node } from '../../../domain/install/node.ts';
import { quoted } from '../../lenient.ts';
import { FACT_FIELDS } from '../node-input.ts';

export interface FactSource {
  /** A boot is known by its token, an installer by its address where no boot got one; anyone can claim a MAC address. */
  readonly by: 'boot' | 'installer' | 'anyone';
  readonly address: string;
}

/** Facts that identify no hardware, and that have a default: they follow what a machine says until it is approved. */
const FOLLOWED: readonly FactName[] = ['arch', 'bootMode'];

export function withFacts(node: Node, reported: HardwareFacts, source: FactSource): Node {
  const facts = { ...node.facts };
  for (const key of Object.keys(reported) as FactName[]) {
    if (reported[key] !== '' && mayChange(node, key, reported[key], source)) facts[key] = reported[key];
  }
  return { ...node, facts };
}

/** A host name that is set stays, and so do facts that an operator edited. */
function mayChange(node: Node, key: FactName, value: string, { by, address }: FactSource): boolean {
  if (node.editedFacts.includes(key)) return false;
  const isUnknown = node.facts[key] === '';
  if (key === 'hostname') return isUnknown;
  // A migration asks whatever boots with the new address, and compares it itself.
  if (by === 'boot' || node.state === 'migrating') return true;
  if (key === 'ipAddress') return isUnknown || value === address;
  const isOpen = by === 'installer' || node.state === 'discovered';
  return isOpen && (isUnknown || FOLLOWED.includes(key));
}

/** Facts that the machine reports differently and that stay as they are, with the reason. */
export function keptFacts(node: Node, reported: HardwareFacts, source: FactSource): Record<string, string> {
  const kept = (Object.keys(reported) as FactName[]).filter(
    (key) =>
      key !== 'hostname' &&
      key !== 'ipAddress' &&
      reported[key] !== '' &&
      reported[key] !== node.facts[key] &&
      !mayChange(node, key, reported[key], source),
  );
  return Object.fromEntries(kept.map((key) => [FACT_FIELDS[key], whyKept(node, key, reported[key])]));
}

function whyKept(node: Node, key: FactName, said: string): string {
  const says = `the machine says ${quoted(said)}`;
  return node.editedFacts.includes(key)
    ? `an operator set ${quoted(node.facts[key])}, which is kept; ${says}`
    : `dropped: only a report with the token of its boot changes it; ${says}`;
}
