/**
 * What a machine is called in MAAS, where names are unique. Two ids may make one name (gpu_1 and gpu-1), and a name may be
 * another record's: then the machine's address is added to it.
 */
import { createHash } from 'node:crypto';
import type { Machine } from '../../domain/machine/machine.ts';
import { MaasFailure } from './client/maas-failure.ts';

/** Of one part of a DNS name. */
const MAX_LENGTH = 63;
const SUFFIX_LENGTH = 6;

export function hostnamesOf({ machineId, spec }: Machine): readonly [string, string] {
  const plain = machineId.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-');
  const address = spec.mac_addresses[0]?.toLowerCase().replaceAll(':', '') ?? machineId;
  const suffix = /^[0-9a-f]{12}$/.test(address)
    ? address.slice(-SUFFIX_LENGTH)
    : createHash('sha256').update(machineId).digest('hex').slice(0, SUFFIX_LENGTH);
  return [trimmed(plain, MAX_LENGTH), `${trimmed(plain, MAX_LENGTH - SUFFIX_LENGTH - 1)}-${suffix}`];
}

/** A name neither begins nor ends with a dash. */
function trimmed(name: string, length: number): string {
  return name.replace(/^-+/, '').slice(0, length).replace(/-+$/, '') || 'machine';
}

/** In the words of Django: {"hostname": ["Machine with this Hostname already exists."]}. */
export function isHostnameTaken(error: unknown): boolean {
  if (!(error instanceof MaasFailure) || error.status !== 400) return false;
  return /hostname/i.test(error.failure.message) && /already exists/i.test(error.failure.message);
}
