/** How hosts are reached over SSH: the user and key that we log in with, and how hosts are verified. */
import { createHash } from 'node:crypto';
import type { ParsedKey } from 'ssh2';
import { z } from 'zod';
import {
  CredentialProblem,
  type CredentialReference,
  filePath,
  readCredential,
  readReferredFile,
  tryCredential,
  variableName,
} from '../connections/credential-reference.ts';
import { type MachineCredential, sourceName } from '../connections/credential-source.ts';
import { sshLibrary } from './ssh-library.ts';

const identity = {
  user: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.@\\-]{0,63}$/, "must be a user's name"),
  private_key_file: filePath.optional(),
  private_key_env: variableName.optional(),
  passphrase_file: filePath.optional(),
  passphrase_env: variableName.optional(),
};

const endpoint = z
  .string()
  .regex(/^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/, 'must be host or host:port');

const fields = z.strictObject({
  ...identity,
  /** In place of a key: a source of the section credentials, with a key for each machine. */
  credentials: sourceName.optional(),
  /** In OpenSSH's format. */
  known_hosts_file: filePath.optional(),
  /** In its place: any server that answers at a host's address is taken for the host. */
  insecure_accept_any: z.literal(true).optional(),
  /** A host that the others are reached through; without a key of its own it is shown the same one. */
  jump: z.strictObject({ host: endpoint, ...identity }).optional(),
  connect_timeout_seconds: z.number().min(1).max(300).default(10),
  keepalive_seconds: z.number().min(1).max(300).default(15),
});
type Fields = z.output<typeof fields>;

/** Hosts that others installed: how they are verified must be configured. */
export const sshConfiguration = fields.superRefine((given, issues) => {
  checkKeys(given, issues);
  if (isOne(given.known_hosts_file, given.insecure_accept_any)) return;
  const message = 'needs exactly one of known_hosts_file and insecure_accept_any: true';
  issues.addIssue({ code: 'custom', path: [], message });
});

/** Hosts that get their host keys when they are deployed; a file may have the keys of others. */
export const deployedSshConfiguration = fields.superRefine((given, issues) => {
  checkKeys(given, issues);
  if (given.credentials !== undefined) {
    const message =
      'is for hosts of the datacenter provider: here the key is put on machines when they are deployed';
    issues.addIssue({ code: 'custom', path: ['credentials'], message });
  }
  if (given.known_hosts_file === undefined || given.insecure_accept_any === undefined) return;
  const message = 'needs at most one of known_hosts_file and insecure_accept_any: true';
  issues.addIssue({ code: 'custom', path: [], message });
});

function checkKeys(given: Fields, issues: z.RefinementCtx): void {
  const { known_hosts_file: knownHosts, jump } = given;
  const missing = (path: string[], message: string) => issues.addIssue({ code: 'custom', path, message });
  if (!isOne(given.private_key_file, given.private_key_env, given.credentials)) {
    missing([], 'needs exactly one of private_key_file and private_key_env, or credentials');
  } else if (given.credentials !== undefined) {
    if (jump && !hasKey(jump))
      missing(['jump'], 'needs private_key_file or private_key_env beside credentials');
  } else tryCredential(issues, keyField(given), () => readIdentity(given));
  if (knownHosts !== undefined) tryCredential(issues, 'known_hosts_file', () => readReferredFile(knownHosts));
  if (jump?.private_key_file !== undefined && jump.private_key_env !== undefined) {
    missing(['jump'], 'needs only one of private_key_file and private_key_env');
  } else if (jump && hasKey(jump)) tryCredential(issues, `jump.${keyField(jump)}`, () => readIdentity(jump));
}

export type SshConfiguration = Fields;
export type IdentityConfiguration = z.output<z.ZodObject<typeof identity>>;

export interface Identity {
  readonly user: string;
  readonly key: ParsedKey;
  /** Differs for each key, and reveals nothing of it. */
  readonly fingerprint: string;
}

export function hasKey(given: IdentityConfiguration): boolean {
  return given.private_key_file !== undefined || given.private_key_env !== undefined;
}

/** What a host must have among its authorized keys. */
export function publicKeyOf({ key }: Pick<Identity, 'key'>): string {
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

/** Read for every connection: a key that was replaced is used at once. */
export function readIdentity(given: IdentityConfiguration): Identity {
  const key: CredentialReference = { file: given.private_key_file, env: given.private_key_env };
  const phrase: CredentialReference = { file: given.passphrase_file, env: given.passphrase_env };
  const passphrase = isGiven(phrase) ? readCredential(phrase).replace(/\r?\n$/, '') : '';
  const name = key.file ?? `the environment variable ${key.env}`;
  return { user: given.user, ...parseKey(readCredential(key), passphrase, name) };
}

/** The key of one machine. */
export function identityOf(
  user: string,
  { name, privateKey, passphrase, ...found }: MachineCredential,
): Identity {
  if (privateKey === null) throw new CredentialProblem(`${name} has no private_key`);
  return { user: found.user ?? user, ...parseKey(privateKey, passphrase ?? '', name) };
}

type KnownKey = Pick<Identity, 'key' | 'fingerprint'>;

const parsedKeys = new Map<string, KnownKey>();
const MAX_PARSED_KEYS = 64;

/** Once for each key: to open one that has a passphrase takes seconds and blocks the process. */
function parseKey(text: string, passphrase: string, name: string): KnownKey {
  const id = createHash('sha256').update(`${passphrase}\0${text}`).digest('base64');
  const known = parsedKeys.get(id);
  if (known) return known;
  const key = sshLibrary().utils.parseKey(text, passphrase);
  // The parser's own words may quote from the key.
  if (key instanceof Error) {
    const locked = /encrypted|passphrase|decrypt|integrity/i.test(key.message);
    throw new CredentialProblem(
      locked
        ? `${name} is encrypted and needs the right passphrase_file or passphrase_env`
        : `${name} holds no private key that can be parsed`,
    );
  }
  if (!key.isPrivateKey()) throw new CredentialProblem(`${name} holds a public key`);
  const parsed = { key, fingerprint: createHash('sha256').update(key.getPublicSSH()).digest('base64') };
  if (parsedKeys.size >= MAX_PARSED_KEYS) parsedKeys.clear();
  parsedKeys.set(id, parsed);
  return parsed;
}

function isGiven({ file, env }: CredentialReference): boolean {
  return file !== undefined || env !== undefined;
}

function isOne(...values: unknown[]): boolean {
  return values.filter((value) => value !== undefined).length === 1;
}

function keyField(given: IdentityConfiguration): string {
  return given.private_key_file === undefined ? 'private_key_env' : 'private_key_file';
}
