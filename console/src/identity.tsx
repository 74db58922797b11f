/** Who is signed in, with which role. */
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { type Role, roleCovers } from '../../src/domain/actor.ts';

export interface Identity {
  readonly name: string;
  readonly role: Role;
  readonly version: string;
}

const IdentityContext = createContext<Identity | null>(null);

export function IdentityProvider({ identity, children }: { identity: Identity; children: ReactNode }) {
  return <IdentityContext value={identity}>{children}</IdentityContext>;
}

export function useIdentity(): Identity {
  const identity = useContext(IdentityContext);
  if (!identity) throw new Error('used outside of IdentityProvider');
  return identity;
}

/** Returns why this user lacks a role, or an empty text. The server checks again. */
export function useForbidden(): (needed: Role) => string {
  const { name, role } = useIdentity();
  return useMemo(
    () => (needed) =>
      roleCovers(role, needed)
        ? ''
        : `This needs the role ${needed}; ${name} has ${role}. Sign in with another role.`,
    [name, role],
  );
}
