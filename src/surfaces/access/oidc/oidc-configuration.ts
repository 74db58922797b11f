/** The section `oidc` of the configuration: issuers whose tokens are accepted, and what their claims allow. */
import { z } from 'zod';
import { allowedAgent, createAddressRules } from '../../../connections/address-rules.ts';
import { filePath, readReferredFile, tryCredential } from '../../../connections/credential-reference.ts';
import type { RoleTable } from '../../../domain/access/caller.ts';
import { type IssuerFetch, isLoopbackUrl, issuerFetch } from '../../../issuers/issuer-fetch.ts';
import { grantFields, roleProblem } from '../access-configuration.ts';

const issuerName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/, 'must be 1 to 32 lower-case letters, digits or "-"');

/** A token is only as trustworthy as the way in which the issuer's keys come here. */
const issuerUrl = z
  .string()
  .max(500)
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an https URL')
  .refine(
    (text) => text.startsWith('https:') || isLoopbackUrl(text),
    'must be https, unless it is on loopback',
  )
  .refine((text) => !/[?#]/.test(text), 'must have no query and no fragment');

const text = z.string().min(1).max(300);

/** The first mapping that matches decides. */
const mapping = z.strictObject({
  /** The name of a claim; with dots, a claim inside another, such as realm_access.roles. */
  claim: text,
  /** The claim itself, or one of its values where it is a list. */
  value: text,
  ...grantFields,
});

const audience = z.union([text.transform((one) => [one]), z.array(text).min(1).max(20)]);

const issuer = z
  .strictObject({
    /** A part of the names of its users, such as corp:alice, and of URLs. */
    name: issuerName,
    /** On the button of the console. */
    title: z.string().min(1).max(60).optional(),
    issuer: issuerUrl,
    /** Who the tokens must be for; without it, the client ids. */
    audience: audience.optional(),
    /** Of the console, which signs in with authorization code and PKCE. */
    client_id: text,
    /** Without it the console is a public client. */
    client_secret_file: filePath.optional(),
    /** How the secret is sent. */
    client_auth: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
    /** Of the command line, which uses the device flow; without it, client_id. */
    cli_client_id: text.optional(),
    scopes: z.array(text).max(20).default(['openid', 'profile', 'email']),
    /** The authorities that sign its certificate; without it, those that Node trusts. */
    ca_file: filePath.optional(),
    clock_skew_seconds: z.int().min(0).max(600).default(30),
    /** The claim that is the name of a user. Choose one that users cannot change. */
    name_claim: text.default('sub'),
    mappings: z
      .array(mapping)
      .min(1, 'must have a mapping at least: no one gets a role without one')
      .max(1_000),
  })
  .superRefine((given, context) => {
    const { client_secret_file: secret, ca_file: ca } = given;
    if (secret !== undefined) tryCredential(context, 'client_secret_file', () => readReferredFile(secret));
    if (ca !== undefined) tryCredential(context, 'ca_file', () => readReferredFile(ca));
    if (!given.scopes.includes('openid'))
      context.addIssue({ code: 'custom', path: ['scopes'], message: 'must have openid' });
  });

export type IssuerConfiguration = z.output<typeof issuer>;

export const oidcConfiguration = z
  .array(issuer)
  .max(20)
  .default([])
  .superRefine((issuers, context) => {
    for (const key of ['name', 'issuer'] as const) {
      const values = issuers.map((one) => one[key]);
      const repeated = values.findIndex((value, place) => values.indexOf(value) !== place);
      if (repeated >= 0)
        context.addIssue({ code: 'custom', path: [repeated, key], message: 'is that of another issuer too' });
    }
  });

/** Where a mapping names a role that there is not; null: nowhere. */
export function mappedRoleProblem(issuers: readonly IssuerConfiguration[], roles: RoleTable): string | null {
  for (const [place, { mappings }] of issuers.entries()) {
    for (const [row, { role }] of mappings.entries()) {
      const problem = roleProblem(roles, role);
      if (problem !== null) return `oidc.${place}.mappings.${row}.role: ${problem}`;
    }
  }
  return null;
}

/** Whom the tokens of an issuer must be for. */
export function audiencesOf(given: IssuerConfiguration): string[] {
  return given.audience ?? [...new Set([given.client_id, cliClientOf(given)])];
}

export function cliClientOf(given: IssuerConfiguration): string {
  return given.cli_client_id ?? given.client_id;
}

/**
 * Which token of a sign-in the command line sends: the ID token where it is for one of the audiences, and otherwise an access
 * token for the audience, which the issuer is asked for as a resource.
 */
export function sentToken(given: IssuerConfiguration): {
  token: 'id_token' | 'access_token';
  resource: string;
} {
  const audiences = audiencesOf(given);
  if (audiences.includes(cliClientOf(given))) return { token: 'id_token', resource: '' };
  return { token: 'access_token', resource: audiences[0] ?? '' };
}

/** An issuer names other URLs in its documents, so what is never connected to is not by its word either. */
const { servers: RULE } = createAddressRules({ allowedNetworks: null, loopback: 'allowed' });

/** The file of authorities is read for each request. */
export function fetchFor({ ca_file: file }: IssuerConfiguration): IssuerFetch {
  const readCa = () => (file === undefined ? undefined : readReferredFile(file));
  return issuerFetch(readCa, (url) => allowedAgent(url, RULE, { ca: readCa() }));
}
