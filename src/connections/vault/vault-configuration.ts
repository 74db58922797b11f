/** A source of credentials of kind vault: HashiCorp Vault's KV version 2. */
import { z } from 'zod';
import { type CredentialReference, filePath, readCredential, variableName } from '../credential-reference.ts';
import { template } from '../credential-template.ts';

const mount = z.string().regex(/^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/, 'must be the path of a mount');

const oneOf = (first: string, second: string) => `needs exactly one of ${first} and ${second}`;
const isOne = (...values: unknown[]) => values.filter((value) => value !== undefined).length === 1;

const token = z
  .strictObject({
    method: z.literal('token'),
    token_file: filePath.optional(),
    token_env: variableName.optional(),
  })
  .refine((given) => isOne(given.token_file, given.token_env), oneOf('token_file', 'token_env'));

const approle = z
  .strictObject({
    method: z.literal('approle'),
    mount: mount.default('approle'),
    /** No secret by itself. */
    role_id: z.string().min(1).max(256),
    secret_id_file: filePath.optional(),
    secret_id_env: variableName.optional(),
  })
  .refine(
    (given) => isOne(given.secret_id_file, given.secret_id_env),
    oneOf('secret_id_file', 'secret_id_env'),
  );

export const vaultConfiguration = z.strictObject({
  kind: z.literal('vault'),
  address: z.string().refine(isPlainUrl, 'must be http(s)://host[:port]'),
  /** Of the KV engine. */
  mount: mount.default('secret'),
  path: template,
  namespace: mount.optional(),
  ca_file: filePath.optional(),
  timeout_seconds: z.number().min(0.1).max(60).default(5),
  auth: z.discriminatedUnion('method', [token, approle], 'method must be token or approle'),
});

export type VaultConfiguration = z.output<typeof vaultConfiguration>;

function isPlainUrl(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === '' && url.password === '' && url.search === '' && url.pathname === '/';
}

/** Read for every login: a secret that was replaced is used at once. */
export function readSecret(reference: CredentialReference): string {
  return readCredential(reference).trim();
}
