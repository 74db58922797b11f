/**
 * No two machines share a MAC address, a BMC or an SSH endpoint. The table machine_hardware and its triggers enforce it, also
 * between replicas; here a violation becomes a fault that names the other machine.
 */
import { Fault } from '../../domain/error/fault.ts';
import type { MachineSpec } from '../../domain/machine/machine.ts';
import { isUniqueViolation, type Session } from '../database/database.ts';

const KINDS = {
  mac: { reason: 'MAC_ADDRESS_TAKEN', field: 'spec.mac_addresses', noun: 'MAC address' },
  bmc: { reason: 'BMC_ENDPOINT_TAKEN', field: 'spec.bmc_endpoint', noun: 'BMC' },
  ssh: { reason: 'SSH_ENDPOINT_TAKEN', field: 'spec.ssh_endpoint', noun: 'SSH endpoint' },
} as const satisfies Record<string, { reason: string; field: string; noun: string }>;

export function isHardwareTaken(error: unknown): boolean {
  return isUniqueViolation(error, 'one_machine_per_hardware');
}

const MAX_ATTEMPTS = 5;

/** Repeats a write that was refused for its hardware, after `settle`: the other machine may have released it meanwhile. */
export async function untilHardwareSettled<T>(
  write: () => Promise<T>,
  settle: () => Promise<void>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isHardwareTaken(error) || attempt === MAX_ATTEMPTS) throw error;
      await settle();
    }
  }
}

interface Claim {
  readonly machineId: string;
  readonly spec: MachineSpec;
}

interface WantedRow extends Record<string, unknown> {
  readonly place: number;
  readonly kind: keyof typeof KINDS;
  readonly key: string;
  readonly holder: string | null;
  readonly retired: boolean | null;
}

const WANTED = `
  SELECT i.place, k.kind, k.key, held.machine_id AS holder,
    holder.install = 'retired' AS retired
  FROM jsonb_to_recordset($1::jsonb) AS i(place integer, "machineId" text, spec jsonb)
  CROSS JOIN LATERAL ingot_hardware_keys(i.spec) AS k
  LEFT JOIN machine_hardware held
    ON held.kind = k.kind AND held.key = k.key AND held.machine_id <> i."machineId"
  LEFT JOIN machines holder ON holder.machine_id = held.machine_id
  ORDER BY i.place, k.kind, k.key`;

/** The claims that are refused: another machine, or an earlier claim that is not refused, has the same hardware. */
export async function takenHardware<C extends Claim>(
  session: Session,
  claims: readonly C[],
): Promise<Map<C, Fault>> {
  const rows = await session.run<WantedRow>('wanted-hardware', WANTED, [
    JSON.stringify(claims.map(({ machineId, spec }, place) => ({ place, machineId, spec }))),
  ]);
  const wantedAt = claims.map((): WantedRow[] => []);
  for (const row of rows) wantedAt[row.place]?.push(row);
  const claimed = new Map<string, string>();
  const faults = new Map<C, Fault>();
  for (const [place, claim] of claims.entries()) {
    const wanted = wantedAt[place] ?? [];
    const fault = firstTaken(claim, wanted, claimed);
    if (fault) faults.set(claim, fault);
    else for (const { kind, key } of wanted) claimed.set(`${kind} ${key}`, claim.machineId);
  }
  return faults;
}

export interface HardwareHolder {
  readonly machineId: string;
  /** The refusal of the claim while the other machine has the hardware. It names that machine. */
  readonly fault: Fault;
  /** What it has, without its name: `MAC address 52:54:00:00:00:01`. */
  readonly hardware: string;
}

/** The other machines that have hardware of a claim, each once. */
export async function hardwareHolders(session: Session, claim: Claim): Promise<HardwareHolder[]> {
  const rows = await session.run<WantedRow>('wanted-hardware', WANTED, [
    JSON.stringify([{ place: 0, machineId: claim.machineId, spec: claim.spec }]),
  ]);
  const holders = new Map<string, HardwareHolder>();
  for (const { kind, key, holder, retired } of rows) {
    if (holder === null || holders.has(holder)) continue;
    const fault = hardwareTaken(kind, key, { machineId: holder, isRetired: retired === true });
    holders.set(holder, { machineId: holder, fault, hardware: `${KINDS[kind].noun} ${key}` });
  }
  return [...holders.values()];
}

function firstTaken(
  { machineId }: Claim,
  wanted: readonly WantedRow[],
  claimed: ReadonlyMap<string, string>,
): Fault | null {
  for (const { kind, key, holder, retired } of wanted) {
    const other = holder ?? claimed.get(`${kind} ${key}`) ?? machineId;
    if (other !== machineId)
      return hardwareTaken(kind, key, { machineId: other, isRetired: retired === true });
  }
  return null;
}

interface Holder {
  readonly machineId: string;
  /** Its install state is retired, which is final. */
  readonly isRetired: boolean;
}

function hardwareTaken(
  kind: keyof typeof KINDS,
  key: string,
  { machineId: holder, isRetired }: Holder,
): Fault {
  const retired = isRetired ? ', which is retired for good' : '';
  const { reason, field, noun } = KINDS[kind];
  return new Fault(reason, {
    message: `${field}: the ${noun} ${key} is that of machine ${holder}${retired}, and no two machines share one; change ${holder} first, or correct this one`,
    metadata: { machine_id: holder, field, value: key },
  });
}
