/**
 * No two machines share a MAC address, a BMC or an SSH endpoint. The table machine_hardware and its triggers see to it, so
 * that no two replicas can both win; here is what a violation of it means.
 */
import { Fault } from '../domain/fault.ts';
import type { MachineSpec } from '../domain/machine.ts';
import { isUniqueViolation, type Session } from './database.ts';

const KINDS = {
  mac: { reason: 'MAC_ADDRESS_TAKEN', field: 'spec.mac_addresses', noun: 'MAC address' },
  bmc: { reason: 'BMC_ENDPOINT_TAKEN', field: 'spec.bmc_endpoint', noun: 'BMC' },
  ssh: { reason: 'SSH_ENDPOINT_TAKEN', field: 'spec.ssh_endpoint', noun: 'SSH endpoint' },
} as const satisfies Record<string, { reason: string; field: string; noun: string }>;

export function isHardwareTaken(error: unknown): boolean {
  return isUniqueViolation(error, 'one_machine_per_hardware');
}

interface Claim {
  readonly machineId: string;
  readonly spec: MachineSpec;
}

const TAKEN = `
  WITH wanted AS (
    SELECT i.place, i."machineId" AS machine_id, k.kind, k.key
    FROM jsonb_to_recordset($1::jsonb) AS i(place integer, "machineId" text, spec jsonb)
    CROSS JOIN LATERAL ingot_hardware_keys(i.spec) AS k)
  SELECT DISTINCT ON (w.place) w.place, w.kind, w.key, coalesce(held.machine_id, earlier.machine_id) AS holder
  FROM wanted w
  LEFT JOIN machine_hardware held ON held.kind = w.kind AND held.key = w.key AND held.machine_id <> w.machine_id
  LEFT JOIN LATERAL (
    SELECT e.machine_id FROM wanted e
    WHERE e.kind = w.kind AND e.key = w.key AND e.place < w.place AND e.machine_id <> w.machine_id
    ORDER BY e.place LIMIT 1) AS earlier ON true
  WHERE coalesce(held.machine_id, earlier.machine_id) IS NOT NULL
  ORDER BY w.place, w.kind, w.key`;

/** By its place in the list: why a claim can't be had, which is that another machine, or an earlier claim, has it. */
export async function takenHardware(session: Session, claims: readonly Claim[]): Promise<Map<number, Fault>> {
  const rows = await session.run<{ place: number; kind: keyof typeof KINDS; key: string; holder: string }>(
    'taken-hardware',
    TAKEN,
    [JSON.stringify(claims.map(({ machineId, spec }, place) => ({ place, machineId, spec })))],
  );
  return new Map(rows.map(({ place, kind, key, holder }) => [place, hardwareTaken(kind, key, holder)]));
}

function hardwareTaken(kind: keyof typeof KINDS, key: string, holder: string): Fault {
  const { reason, field, noun } = KINDS[kind];
  return new Fault('already_exists', {
    reason,
    message: `${field}: the ${noun} ${key} is that of machine ${holder}, and no two machines share one; change ${holder} first, or correct this one`,
    metadata: { machine_id: holder, field, value: key },
  });
}
