/** Who someone is and what they may do, by the claims of an issuer. The first mapping that matches decides. */
import { actorOf, type Grant, grantOf, type RoleTable } from '../../../domain/access/caller.ts';
import { parseScope } from '../../../domain/access/scope.ts';
import type { Actor } from '../../../domain/actor.ts';
import { Fault } from '../../../domain/error/fault.ts';
import type { IdentityClaims } from '../../../store/sessions.ts';
import { unauthenticated } from '../authenticator.ts';
import type { IssuerConfiguration } from './oidc-configuration.ts';

export type MappedIdentity = Grant & { readonly actor: Actor; readonly issuer: string };

export function mappedIdentity(
  issuer: IssuerConfiguration,
  roles: RoleTable,
  claims: IdentityClaims,
): MappedIdentity {
  const name = `${issuer.name}:${nameIn(issuer, claims)}`;
  const mapping = issuer.mappings.find(({ claim, value }) => valuesOf(claims, claim).includes(value));
  if (!mapping) {
    throw new Fault('NO_MAPPED_ROLE', {
      message: `${name} has no role here: no mapping of ${issuer.name} matches its claims`,
      metadata: { issuer: issuer.name, name },
    });
  }
  const grant = grantOf(roles, { role: mapping.role, scope: parseScope(mapping.scope) });
  return { ...grant, actor: actorOf(mapping.role, name), issuer: issuer.name };
}

/** The claims that decide, without the others: what a session keeps. */
export function decidingClaims({ name_claim: name, mappings }: IssuerConfiguration, claims: IdentityClaims) {
  const names = new Set(['sub', name, ...mappings.map(({ claim }) => rootOf(claims, claim))]);
  return Object.fromEntries([...names].flatMap((key) => (key in claims ? [[key, claims[key]]] : [])));
}

/** Whether a claim that decides is not there. */
export function lacksDecidingClaim(issuer: IssuerConfiguration, claims: IdentityClaims): boolean {
  const names = [issuer.name_claim, ...issuer.mappings.map(({ claim }) => claim)];
  return names.some((name) => !(rootOf(claims, name) in claims));
}

/** No control characters, no lone surrogates: it goes into events, logs and terminals. */
const NAME = /^[^\p{C}]{1,128}$/u;

function nameIn({ name, name_claim: claim }: IssuerConfiguration, claims: IdentityClaims): string {
  const [value = ''] = valuesOf(claims, claim);
  if (NAME.test(value)) return value;
  throw unauthenticated(`the token of ${name} has no usable claim ${claim}`);
}

/** A claim may have dots in its name, as URLs do; otherwise dots lead into it. */
function rootOf(claims: IdentityClaims, claim: string): string {
  return Object.hasOwn(claims, claim) ? claim : (claim.split('.')[0] ?? claim);
}

function valuesOf(claims: IdentityClaims, claim: string): string[] {
  const found = Object.hasOwn(claims, claim)
    ? claims[claim]
    : claim.split('.').reduce<unknown>((value, part) => memberOf(value, part), claims);
  return [found].flat().flatMap((one) => (isPlain(one) ? [String(one)] : []));
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}
