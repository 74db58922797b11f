import type { Machine } from '../../domain/machine/machine.ts';
import type { Session } from '../database/database.ts';

/** How many other machines find the login of their BMC where this one does: by the same reference, or as their provider's own. */
export async function otherMachinesWithLogin(
  session: Session,
  { machineId, spec }: Pick<Machine, 'machineId' | 'spec'>,
): Promise<number> {
  const [row] = await session.run<{ count: string }>(
    'other-machines-with-login',
    `SELECT count(*) FROM machines
     WHERE machine_id <> $1 AND service IS DISTINCT FROM 'deleted' AND coalesce(spec ->> 'bmc_endpoint', '') <> ''
       AND coalesce(spec ->> 'bmc_credentials_ref', '') = $2 AND ($2 <> '' OR spec ->> 'provider' = $3)`,
    [machineId, spec.bmc_credentials_ref, spec.provider],
  );
  return Number(row?.count ?? 0);
}
