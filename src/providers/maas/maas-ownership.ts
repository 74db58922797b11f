/**
 * Whose machine it is. MAAS lets an administrator, which our key must be, deploy and release what another user has; we
 * don't. A machine that is locked MAAS refuses to everybody, with 403 and not a word, so that is said before it is asked.
 */
import type { MaasMachine, MaasUser } from './maas-control.ts';
import { MaasFailure } from './maas-failure.ts';

type Held = Pick<MaasMachine, 'systemId' | 'hostname' | 'owner' | 'locked'>;

/** As a refusal, which it is: nothing was sent. */
const REFUSED = { status: 403, retryAfterMs: null } as const;

/** Null: nobody else has it. */
export function ownedProblem({ owner, ...machine }: Held, user: MaasUser, maas: string): MaasFailure | null {
  if (owner === null || owner === user.username) return null;
  const message = `${nameOf(machine)} belongs to ${owner} in ${maas}, and we are ${user.username} there`;
  return new MaasFailure({ class: 'needs_human', code: 'MAAS_MACHINE_OWNED', message }, REFUSED);
}

/** Null: it is not locked. */
export function lockedProblem({ owner, locked, ...machine }: Held, maas: string): MaasFailure | null {
  if (!locked) return null;
  const holder = owner === null ? '' : ` (it belongs to ${owner})`;
  const message = `${nameOf(machine)} is locked in ${maas}${holder}: MAAS changes nothing about it until it is unlocked there`;
  return new MaasFailure({ class: 'needs_human', code: 'MAAS_MACHINE_LOCKED', message }, REFUSED);
}

function nameOf({ systemId, hostname }: Pick<Held, 'systemId' | 'hostname'>): string {
  return `${hostname} (${systemId})`;
}
