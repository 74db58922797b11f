/** A provider of kind maas: where the MAAS is, which key we use, and how its site wants machines deployed. */
import { z } from 'zod';
import {
  CredentialProblem,
  filePath,
  readCredential,
  readReferredFile,
  tryCredential,
  variableName,
} from '../../connections/credential-reference.ts';
import { sourceName } from '../../connections/credential-source.ts';
import { deployedSshConfiguration } from '../../hosts/ssh-configuration.ts';
import { commissioning, kernel, placement } from './maas-options.ts';

const word = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, 'must be one word');

const credentials = {
  user: z.string().regex(/^[\x21-\x7e]{1,64}$/, "must be a user's name"),
  password_file: filePath.optional(),
  password_env: variableName.optional(),
  /** In their place: a source of the section credentials, with a login for each machine. */
  credentials: sourceName.optional(),
};

/** How MAAS reaches the BMCs of this site. The address is each machine's own spec.bmc_endpoint. */
const power = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('ipmi'),
      ...credentials,
      driver: z.enum(['LAN', 'LAN_2_0']).default('LAN_2_0'),
      boot_type: z.enum(['auto', 'legacy', 'efi']).default('auto'),
      cipher_suite: z.enum(['3', '8', '12', '17']).default('3'),
      privilege: z.enum(['USER', 'OPERATOR', 'ADMIN']).default('OPERATOR'),
    }),
    z.strictObject({ type: z.literal('redfish'), ...credentials }),
    /** People switch the power. */
    z.strictObject({ type: z.literal('manual') }),
  ])
  .superRefine((given, issues) => {
    if (given.type === 'manual') return;
    const ways = [given.password_file, given.password_env, given.credentials];
    if (ways.filter((way) => way !== undefined).length !== 1) {
      const message = 'needs exactly one of password_file and password_env, or credentials';
      issues.addIssue({ code: 'custom', path: [], message });
      return;
    }
    if (given.credentials !== undefined) return;
    const field = given.password_file === undefined ? 'password_env' : 'password_file';
    tryCredential(issues, field, () => readPowerPassword(given));
  });

const deploy = z.strictObject({
  osystem: word.default('ubuntu'),
  distro_series: word.default('noble'),
  /** A file with the cloud-init that machines of this site get besides Ingot's own part. */
  user_data_template: filePath.optional(),
  /** MAAS installs a program on the machine that reports hardware changes to it. */
  hardware_sync: z.boolean().default(true),
});

const storage = z.strictObject({
  /** What the model of the disk to boot from contains, in any case of letters. */
  boot_disk_model: z.string().min(1).max(128).default('BOSS'),
});

/** Longer than this, and the stage's own time limit would come first. */
const MAX_WAIT_SECONDS = 3500;

/** How long a deployed machine may take for what it does by itself, before a human must look. */
const waits = z.strictObject({
  hardware_sync_seconds: z.number().min(1).max(MAX_WAIT_SECONDS).default(3240),
  agent_seconds: z.number().min(1).max(MAX_WAIT_SECONDS).default(3240),
  /** For a machine whose disks are erased to be off. */
  power_off_seconds: z.number().min(1).max(MAX_WAIT_SECONDS).default(300),
});

export const maasConfiguration = z
  .strictObject({
    kind: z.literal('maas'),
    /** Up to and with /MAAS, for instance http://maas.example.com:5240/MAAS */
    url: z.string().refine(isMaasUrl, 'must be an http(s):// URL without user, query or fragment'),
    api_key_file: filePath.optional(),
    api_key_env: variableName.optional(),
    /** The user of the key, for a server without users/?op=whoami. */
    username: z
      .string()
      .regex(/^[\w.@+-]{1,150}$/, 'must be the name of a user of the MAAS')
      .optional(),
    /** The authorities that sign its certificate; without it, those that Node trusts. */
    ca_file: filePath.optional(),
    request_timeout_seconds: z.number().min(0.1).max(300).default(30),
    /** MAAS asks the BMC before it answers, and waits up to a minute for it. */
    power_query_timeout_seconds: z.number().min(0.1).max(300).default(60),
    /** How many requests are under way at once. */
    concurrency: z.int().min(1).max(64).default(8),
    /** How long a request may wait for others before it gives up. */
    queue_timeout_seconds: z.number().min(0.1).max(300).default(15),
    architecture: z
      .string()
      .regex(/^[a-z0-9]{1,16}\/[a-z0-9-]{1,32}$/, 'must be like amd64/generic')
      .default('amd64/generic'),
    deploy: deploy.prefault({}),
    storage: storage.prefault({}),
    waits: waits.prefault({}),
    power: power.optional(),
    placement: placement.prefault({}),
    commissioning: commissioning.prefault({}),
    kernel: kernel.prefault({}),
    /** How commands are run on what is deployed; without it there are none. */
    ssh: deployedSshConfiguration.optional(),
  })
  .superRefine((given, issues) => {
    const { api_key_file: file, api_key_env: env, ca_file: ca } = given;
    if ((file === undefined) === (env === undefined)) {
      const message = 'needs exactly one of api_key_file and api_key_env';
      issues.addIssue({ code: 'custom', path: [], message });
    } else
      tryCredential(issues, file === undefined ? 'api_key_env' : 'api_key_file', () => readApiKey(given));
    if (ca !== undefined) tryCredential(issues, 'ca_file', () => readCertificateFile(ca));
    const { user_data_template: template } = given.deploy;
    if (template !== undefined) {
      tryCredential(issues, 'deploy.user_data_template', () => readReferredFile(template));
    }
  });

export type MaasConfiguration = z.output<typeof maasConfiguration>;
export type MaasPowerConfiguration = z.output<typeof power>;

function isMaasUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const bare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return (url.protocol === 'https:' || url.protocol === 'http:') && bare;
}

/** The three parts of a key as MAAS prints it. */
export interface MaasApiKey {
  readonly consumer: string;
  readonly token: string;
  readonly secret: string;
}

/** Read for every request: a key that was replaced is used at once. */
export function readApiKey(given: Pick<MaasConfiguration, 'api_key_file' | 'api_key_env'>): MaasApiKey {
  const { api_key_file: file, api_key_env: env } = given;
  const text = readCredential({ file, env }).trim();
  const [, consumer, token, secret] =
    /^([\x21-\x39\x3b-\x7e]+):([\x21-\x39\x3b-\x7e]+):([\x21-\x39\x3b-\x7e]+)$/.exec(text) ?? [];
  if (consumer === undefined || token === undefined || secret === undefined) {
    const name = file ?? `the environment variable ${env}`;
    throw new CredentialProblem(`${name} holds no API key: consumer:token:secret`);
  }
  return { consumer, token, secret };
}

export function readPowerPassword(given: {
  readonly password_file?: string | undefined;
  readonly password_env?: string | undefined;
}): string {
  const { password_file: file, password_env: env } = given;
  const password = readCredential({ file, env }).replace(/\r?\n$/, '');
  if (/[\0\r\n]/.test(password)) {
    throw new CredentialProblem(`${file ?? `the environment variable ${env}`} has more than one line`);
  }
  return password;
}

export function readCertificateFile(file: string): string {
  const text = readReferredFile(file);
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new CredentialProblem(`${file} holds no PEM certificate`);
  }
  return text;
}
