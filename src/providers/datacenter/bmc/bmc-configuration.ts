/** How a datacenter's BMCs are reached: the section bmc of its provider. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { allowedNetworks } from '../../../connections/address-rules.ts';
import {
  CredentialProblem,
  filePath,
  readCredential,
  tryCredential,
  variableName,
} from '../../../connections/credential-reference.ts';
import { sourceName } from '../../../connections/credential-source.ts';

/** What IPMI 2.0 keeps of a password. A BMC would compare no more, and ipmitool sends no more. */
const MAX_IPMI_PASSWORD_BYTES = 20;
const MAX_IPMI_USER = 16;
const USER = /^[\x21-\x7e]{1,64}$/;

export const bmcConfiguration = z
  .strictObject({
    /** auto: a URL in spec.bmc_endpoint is Redfish, a host IPMI. */
    protocol: z.enum(['auto', 'redfish', 'ipmi']).default('auto'),
    user: z.string().regex(USER, "must be a user's name of at most 64 characters"),
    password_file: filePath.optional(),
    password_env: variableName.optional(),
    /** In their place: a source of the section credentials, with a login for each machine. */
    credentials: sourceName.optional(),
    /** Those that encrypt; 3 is the one that IPMI 2.0 demands of every BMC, 17 the best that newer ones have. */
    cipher_suite: z.union([z.literal(3), z.literal(8), z.literal(12), z.literal(17)]).default(3),
    /** What the session asks for; operator suffices for power and boot device on most BMCs. */
    privilege: z.enum(['administrator', 'operator']).default('administrator'),
    timeout_seconds: z.number().min(2).max(120).default(10),
    /** Where the password may be used; everywhere without it. */
    allowed_networks: allowedNetworks.optional(),
    /** How long a machine may take to be off, where it is switched off to be installed. */
    power_off_seconds: z.number().min(1).max(600).default(30),
    redfish: z
      .strictObject({
        /** Authorities that certificates of BMCs are verified by, instead of the system's; a machine may pin its own. */
        ca_file: filePath.optional(),
        /** Takes http:// endpoints, which send the password in plain text. */
        plaintext: z.enum(['refused', 'allowed']).default('refused'),
      })
      .prefault({}),
    console: z
      .strictObject({
        /** Records the serial console of every machine with a BMC, from when it is registered on. */
        record: z.boolean().default(false),
        /** How much of a machine's output is kept. */
        keep_kib: z.int().min(16).max(65_536).default(1_024),
        /** How many consoles one replica records: each is a program of its own. */
        max_recorded: z.int().min(0).max(2_000).default(64),
        /** A console that is silent for so long is asked whether it is still connected. */
        check_seconds: z.int().min(5).max(3_600).default(60),
        /** Keys of BMCs as OpenSSH's known_hosts has them. Without it, no console is reached over SSH. */
        ssh_known_hosts: filePath.optional(),
      })
      .prefault({}),
    boot: z
      .strictObject({
        /** For every boot until it is set again, and not only for the next one. */
        persistent: z.boolean().default(false),
        efi: z.boolean().default(false),
        /** auto: an installer is booted in the strongest way that machine and BMC have; any other: in this way, or not at all. */
        way: z.enum(['auto', 'http', 'media', 'pxe']).default('auto'),
        /** For BMCs that never show that their boot flags are valid. */
        ignore_valid_bit: z.boolean().default(false),
        /** A machine that has not asked for its installer after so long is power-cycled again. */
        patience_seconds: z.int().min(10).max(7_200).default(900),
      })
      .prefault({}),
  })
  .superRefine((given, issues) => {
    const { ca_file: file } = given.redfish;
    if (file !== undefined) tryCredential(issues, 'redfish.ca_file', () => readCredential({ file }));
    const ways = [given.password_file, given.password_env, given.credentials];
    if (ways.filter((way) => way !== undefined).length !== 1) {
      const message = 'needs exactly one of password_file and password_env, or credentials';
      issues.addIssue({ code: 'custom', path: [], message });
      return;
    }
    if (given.credentials !== undefined) return;
    const field = given.password_file === undefined ? 'password_env' : 'password_file';
    tryCredential(issues, field, () => {
      const login = readBmcLogin(given);
      if (given.protocol === 'ipmi') checkedForIpmi(login);
    });
  });

export type BmcConfiguration = z.output<typeof bmcConfiguration>;

export interface BmcLogin {
  readonly user: string;
  readonly password: string;
  /** Where it comes from, for messages. */
  readonly name: string;
  /** Differs for each login, and reveals nothing of it. */
  readonly fingerprint: string;
}

/** Read for every session: a password that was replaced is used at once. */
export function readBmcLogin(
  given: Pick<BmcConfiguration, 'user' | 'password_file' | 'password_env'>,
): BmcLogin {
  const { user, password_file: file, password_env: env } = given;
  const password = readCredential({ file, env }).replace(/\r?\n$/, '');
  return bmcLogin(user, password, file ?? `the environment variable ${env}`);
}

/** `name` is where the password comes from. */
export function bmcLogin(user: string, password: string, name: string): BmcLogin {
  if (!USER.test(user)) throw new CredentialProblem(`${name} has a user's name that BMCs can't use`);
  if (password === '') throw new CredentialProblem(`${name} has no password`);
  if (/[\0\r\n]/.test(password)) throw new CredentialProblem(`${name} has more than one line`);
  return {
    user,
    password,
    name,
    fingerprint: createHash('sha256').update(`${user}\0${password}`).digest('base64'),
  };
}

/** IPMI has shorter names and passwords than Redfish. */
export function checkedForIpmi(login: BmcLogin): BmcLogin {
  const { user, password, name } = login;
  if (user.length > MAX_IPMI_USER)
    throw new CredentialProblem(`${name} has a user's name that IPMI can't use`);
  if (Buffer.byteLength(password) > MAX_IPMI_PASSWORD_BYTES)
    throw new CredentialProblem(
      `${name} has more than the ${MAX_IPMI_PASSWORD_BYTES} bytes that IPMI can use`,
    );
  return login;
}
