/**
 * Which user a machine belongs to. MAAS lets an administrator, which our key must be, deploy and release what another
 * user has; we don't. MAAS refuses a locked machine to every user, with 403 and no reason, so we check that before we ask.
 *
 * Our own user is what MAAS says (whoami). Where it does not, it is what the configuration says; without that, the owner that
 * MAAS names for what we commission or deploy. Until one of them is known, a machine with an owner counts as another user's.
 */
import type { MaasMachine } from './maas-control.ts';
import { MaasFailure } from './maas-failure.ts';

type Held = Pick<MaasMachine, 'systemId' | 'hostname' | 'owner' | 'locked'>;

/** As a refusal, which it is: nothing was sent. */
const REFUSED = { status: 403, retryAfterMs: null } as const;

/** Null: no one else has it. A username of null: who we are is not known. */
export function ownedProblem(
  { owner, ...machine }: Held,
  username: string | null,
  maas: string,
): MaasFailure | null {
  if (owner === null || owner === username) return null;
  const who =
    username === null
      ? `, which does not say who we are: if ${owner} is our user there, set username in the configuration of ${maas}`
      : `, and we are ${username} there`;
  const message = `${nameOf(machine)} belongs to ${owner} in ${maas}${who}`;
  return new MaasFailure({ class: 'needs_human', code: 'MAAS_MACHINE_OWNED', message }, REFUSED);
}

/** Null: it is not locked. */
export function lockedProblem({ owner, locked, ...machine }: Held, maas: string): MaasFailure | null {
  if (!locked) return null;
  const holder = owner === null ? '' : ` (it belongs to ${owner})`;
  const message = `${nameOf(machine)} is locked in ${maas}${holder}: MAAS changes nothing about it until it is unlocked there`;
  return new MaasFailure({ class: 'needs_human', code: 'MAAS_MACHINE_LOCKED', message }, REFUSED);
}

/** The owners that MAAS names for what we started. Two names can't both be ours: then neither is known to be. */
export class LearnedUser {
  #key = '';
  readonly #names = new Set<string>();

  learn(key: string, owner: string | null | undefined): void {
    this.#forgetOther(key);
    if (owner) this.#names.add(owner);
  }

  username(key: string): string | null {
    this.#forgetOther(key);
    const [name, second] = this.#names;
    return second === undefined ? (name ?? null) : null;
  }

  /** Another key may be another user's. */
  #forgetOther(key: string): void {
    if (key !== this.#key) this.#names.clear();
    this.#key = key;
  }
}

function nameOf({ systemId, hostname }: Pick<Held, 'systemId' | 'hostname'>): string {
  return `${hostname} (${systemId})`;
}
