/**
 * Plans, pools, images and workflows belong to the scope that they were created in. Those without a scope are shared: every caller
 * reads them, and only callers without a scope change them. A caller with a scope changes what is exactly its own, and a name that
 * another scope has is not available to it, whatever it names there.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Scope } from '../domain/access/scope.ts';
import { Fault } from '../domain/error/fault.ts';

export interface OwnedRow {
  scope_terms: string[];
}

/** For a new record. */
export function termsOf(scope: Scope | null): readonly string[] {
  return scope?.terms ?? [];
}

/** Called in the transaction of a change, with the row as it is stored: what is thrown undoes the change. */
export function checkOwned(what: string, row: OwnedRow | undefined, scope: Scope | null): void {
  if (scope === null || row === undefined || isDeepStrictEqual(row.scope_terms, scope.terms)) return;
  throw notAvailable(what, scope);
}

export function notAvailable(what: string, scope: Scope): Fault {
  return new Fault('OUT_OF_SCOPE', {
    message: `${what} is not available in the scope ${scope.text}; choose another name`,
    metadata: { scope: scope.text },
  });
}
