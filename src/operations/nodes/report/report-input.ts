/**
 * Reads a report so that its status always counts. It is refused only without a valid MAC address, or with an unknown
 * status; every other field is kept as far as it is valid.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { INSTALLATION_STATUSES, type InstallationStatus } from '../../../domain/install/install-report.ts';
import { ARCHITECTURES, BOOT_MODES } from '../../../domain/install/node.ts';
import {
  asText,
  collectAdjustments,
  cutText,
  type LenientReader,
  lenientChoice,
  lenientCount,
  lenientLine,
  lenientObject,
  lenientProse,
  quoted,
} from '../../lenient.ts';
import { HOST_NAME, MAX_HOST_NAME, mac, read } from '../node-input.ts';
import { readErased } from './erase-input.ts';
import { readEvidence } from './evidence-input.ts';
import { readInventory } from './inventory-input.ts';

const MAX_ERROR = 4096;
const MAX_LABEL = 63;

/**
 * A name with invalid characters is dropped, because without them it would be another name; one that is too long is
 * cut.
 */
const hostname: LenientReader<string> = (value, field, note) => {
  const name = asText(value, field, note)?.trim().replace(/\.+$/, '');
  if (name === undefined || name === '') return undefined;
  if (HOST_NAME.test(name) && name.length <= MAX_HOST_NAME) return name;
  const kept = frontOf(name);
  if (HOST_NAME.test(kept)) {
    note(field, `cut: ${kept.length} of ${name.length} characters are kept`);
    return kept;
  }
  note(field, `dropped: ${quoted(name)} is no host name`);
  return undefined;
};

/** Whole labels, up to the first that is too long. */
function frontOf(name: string): string {
  const kept: string[] = [];
  for (const label of name.split('.')) {
    const part = cutText(label, MAX_LABEL);
    if (kept.join('.').length + 1 + part.length > MAX_HOST_NAME) break;
    kept.push(part);
    if (part !== label) break;
  }
  return kept.join('.');
}

/** Drops a prefix length or a zone, as tools print them. */
const address: LenientReader<string> = (value, field, note) => {
  const text = asText(value, field, note)?.trim();
  if (text === undefined || text === '') return undefined;
  const bare = /^([0-9a-f.:]+)(?:%[^/]*)?(?:\/\d{1,3})?$/i.exec(text)?.[1] ?? '';
  if (isIPv4(bare) || isIPv6(bare)) return bare;
  note(field, `dropped: ${quoted(text)} is no IPv4 or IPv6 address`);
  return undefined;
};

/** A cut identifier would be another one, so a long one is dropped. */
const identifier: LenientReader<string> = (value, field, note) => {
  const max = 64;
  const text = asText(value, field, note)?.trim() ?? '';
  if (text.length <= max) return lenientLine(max)(text, field, note);
  note(field, `dropped: it has more than ${max} characters`);
  return undefined;
};

const known: LenientReader<unknown> = (value) => value;

const sideFields = lenientObject({
  ip_address: address,
  hostname,
  vendor: lenientLine(255),
  model: lenientLine(255),
  serial_number: lenientLine(255),
  system_uuid: identifier,
  arch: lenientChoice(ARCHITECTURES),
  boot_mode: lenientChoice(BOOT_MODES),
  installation_progress: lenientCount(0, 100),
  installation_error: lenientProse(MAX_ERROR),
  erase: readErased,
  evidence: readEvidence,
  inventory: readInventory,
  // Read below: a report without a valid value is refused.
  mac_address: known,
  installation_status: known,
});

/** The machine and the status, without which a report is refused. */
const identity = z.looseObject({
  mac_address: mac,
  installation_status: z.string().trim().toLowerCase().pipe(z.enum(INSTALLATION_STATUSES)).nullish(),
});

export interface NodeReport
  extends Omit<NonNullable<ReturnType<typeof sideFields>>, 'mac_address' | 'installation_status'> {
  readonly mac_address: string;
  readonly installation_status: InstallationStatus | null;
  /** Fields that were cut or dropped, with what was done to them. */
  readonly adjusted: Readonly<Record<string, string>>;
}

export function readReport(body: unknown): NodeReport {
  const { mac_address, installation_status } = read(identity, body);
  const { note, noted } = collectAdjustments();
  const side = sideFields(body, '', note) ?? {};
  return {
    ...side,
    mac_address,
    installation_status: installation_status ?? null,
    adjusted: noted(),
  };
}
