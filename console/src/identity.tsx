/** Whose token this is, and what it may do. */
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import { type Role, roleCovers } from '../../src/domain/actor.ts';

export interface Who {
  readonly name: string;
  readonly role: Role;
  readonly version: string;
}

const IdentityContext = createContext<Who | null>(null);

export function IdentityProvider({ who, children }: { who: Who; children: ReactNode }) {
  return <IdentityContext value={who}>{children}</IdentityContext>;
}

export function useIdentity(): Who {
  const who = useContext(IdentityContext);
  if (!who) throw new Error('used outside of IdentityProvider');
  return who;
}

/** Says why this token may not do what needs that role; empty when it may. The server decides again. */
export function useForbidden(): (needed: Role) => string {
  const { name, role } = useIdentity();
  return useMemo(
    () => (needed) =>
      roleCovers(role, needed)
        ? ''
        : `This needs the role ${needed}; your token ${name} has ${role}. Sign in with another token.`,
    [name, role],
  );
}
