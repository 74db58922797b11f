/** The configuration file: what is too big for a setting. All of it is read and checked before anything is started. */
import { readFileSync } from 'node:fs';
import { type Document, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { clustersConfiguration } from '../../clusters/cluster-configuration.ts';
import { allowedNetworks } from '../../connections/address-rules.ts';
import { filePath, variableName } from '../../connections/credential-reference.ts';
import { credentialsConfiguration } from '../../connections/credential-source.ts';
import { DEFAULT_AGENT_PROVIDER, POOL_RULE } from '../../domain/agent/agent.ts';
import { HOOKED_STAGES } from '../../domain/workflow/stage.ts';
import { netbootConfiguration } from '../../operations/nodes/netboot-configuration.ts';
import { IN_OUR_WORDS } from '../../operations/problem-text.ts';
import { datacenterConfiguration } from '../../providers/datacenter/datacenter-configuration.ts';
import { maasConfiguration } from '../../providers/maas/maas-configuration.ts';
import { rolesConfiguration } from '../../surfaces/access/access-configuration.ts';
import {
  certificateRoleProblem,
  certificatesConfiguration,
} from '../../surfaces/access/certificates-configuration.ts';
import { mappedRoleProblem, oidcConfiguration } from '../../surfaces/access/oidc/oidc-configuration.ts';
import { sessionsConfiguration } from '../../surfaces/access/session-configuration.ts';
import { trustedProxies } from '../../surfaces/access/trusted-proxies.ts';
import { limitsConfiguration } from '../../surfaces/limits/limits-configuration.ts';
import { auditConfiguration } from '../audit/audit-configuration.ts';
import { tlsConfiguration } from '../tls/tls-configuration.ts';
import { approvalsConfiguration } from './approval-configuration.ts';
import { budgetsConfiguration } from './budget-configuration.ts';
import { SETTINGS, SettingError } from './settings.ts';
import { tokensConfiguration } from './token-configuration.ts';

const providerName = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a lower-case name');

/** For plan steps that name no time limit or number of retries. */
const stepDefaults = z.strictObject({
  timeout_seconds: z.int().min(1).max(604_800).default(600),
  max_retries: z.int().min(0).max(100).default(1),
});

/** How machines are probed to keep their conditions current. */
const looks = z.strictObject({
  /** Off for a replica that can't reach the machines; then the others probe them. */
  enabled: z.boolean().default(true),
  interval_seconds: z.int().min(1).max(86_400).default(60),
  concurrency: z.int().min(1).max(10_000).default(64),
  probe_timeout_seconds: z.int().min(1).max(300).default(5),
  misses_until_unreachable: z.int().min(1).max(1_000).default(3),
});

/** How the sensors, the health and the logs of BMCs are read. */
const sensors = z.strictObject({
  /** Off for a replica that can't reach the BMCs; then the others read them. */
  enabled: z.boolean().default(true),
  interval_seconds: z.int().min(1).max(86_400).default(300),
  concurrency: z.int().min(1).max(1_000).default(16),
  /** For one reading of one BMC. */
  timeout_seconds: z.int().min(1).max(600).default(60),
});

/** They exist without configuration. */
export const BUILT_IN_PROVIDERS = ['fake', DEFAULT_AGENT_PROVIDER] as const;

const provider = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('fake') }),
    z.strictObject({ kind: z.literal('generic') }),
    datacenterConfiguration,
    maasConfiguration,
  ],
  'must be one of fake, generic, datacenter, maas',
);

/** Stages that the site carries out itself, on an HTTP request. */
const hook = z
  .strictObject({
    url: z
      .string()
      .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an http(s) URL'),
    token_file: filePath.optional(),
    token_env: variableName.optional(),
  })
  .refine(
    (given) => given.token_file === undefined || given.token_env === undefined,
    'has both token_file and token_env',
  );

const schema = z.strictObject({
  /** For machines whose spec names no provider. */
  default_provider: z.string().default('fake'),
  /** Without it, the ports are plaintext and on this machine only. */
  tls: tlsConfiguration,
  /** Client certificates that are a way in; needs tls.client_ca_file. */
  certificates: certificatesConfiguration,
  step_defaults: stepDefaults.default(() => stepDefaults.parse({})),
  looks: looks.default(() => looks.parse({})),
  sensors: sensors.default(() => sensors.parse({})),
  /** Worker pools that agents may enrol in; more can be created later. */
  pools: z.array(z.string().regex(POOL_RULE, "must be a pool's name")).default([]),
  /** By the name of the stage: force_release_allocations, drain_node, cleanup_storage, scrub_gpu, … */
  hooks: z.partialRecord(z.enum(HOOKED_STAGES), hook).default({}),
  netboot: netbootConfiguration.default(() => netbootConfiguration.parse({})),
  limits: limitsConfiguration,
  /** Networks of reverse proxies whose X-Forwarded-For names the caller. */
  trusted_proxies: trustedProxies,
  approvals: approvalsConfiguration,
  /** How many machines of a group may be unavailable at once; more can be created later. */
  budgets: budgetsConfiguration,
  /** Where machines, BMCs and hooks may be; without it everywhere but at the addresses that are never connected to. */
  allowed_networks: allowedNetworks.nullable().default(null),
  tokens: tokensConfiguration,
  sessions: sessionsConfiguration.prefault({}),
  /** Issuers whose tokens are accepted. */
  oidc: oidcConfiguration,
  clusters: clustersConfiguration,
  /** Where the credentials of machines are, by name. */
  credentials: credentialsConfiguration,
  audit: auditConfiguration.default(() => auditConfiguration.parse({})),
  providers: z.record(providerName, provider).default({}),
  /** Sets of methods, beside viewer, operator and admin. */
  roles: rolesConfiguration,
});

export type Configuration = z.output<typeof schema>;

/** Only this detects an alias without an anchor. */
function plainValue(document: Document, fail: (problem: string) => SettingError): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw fail((error as Error).message.split('\n')[0] ?? 'is not valid YAML');
  }
}

export function readConfiguration(file: string | null): Configuration {
  if (file === null) return schema.parse({});
  const { variable } = SETTINGS.configFile;
  const fail = (problem: string) => new SettingError(variable, `${file}: ${problem}`);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw fail(`can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [syntax] = document.errors;
  if (syntax) throw fail(`line ${lines.linePos(syntax.pos[0]).line}: ${syntax.message.split('\n')[0]}`);
  const parsed = schema.safeParse(plainValue(document, fail) ?? {}, IN_OUR_WORDS);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path.join('.').replace(/\s+/g, ' ') || 'the file';
    throw fail(`${path}: ${issue?.message ?? 'is not valid'}`);
  }
  const roleProblem = certificateRoleProblem(parsed.data.certificates, parsed.data.roles);
  if (roleProblem !== null) throw fail(roleProblem);
  const unknown = unknownSource(parsed.data);
  if (unknown !== null) throw fail(unknown);
  const names = new Set([...BUILT_IN_PROVIDERS, ...Object.keys(parsed.data.providers)]);
  if (!names.has(parsed.data.default_provider)) {
    throw fail(`default_provider: ${parsed.data.default_provider} is not among ${[...names].join(', ')}`);
  }
  const { provider: nodeProvider } = parsed.data.netboot;
  if (nodeProvider !== null && !names.has(nodeProvider)) {
    throw fail(`netboot.provider: ${nodeProvider} is not among ${[...names].join(', ')}`);
  }
  const unknownRole = mappedRoleProblem(parsed.data.oidc, parsed.data.roles);
  if (unknownRole !== null) throw fail(unknownRole);
  return parsed.data;
}

/** Which provider names a source of credentials that there is none of; null: every name is known. */
function unknownSource({ providers, credentials }: Configuration): string | null {
  for (const [name, provider] of Object.entries(providers)) {
    const sections =
      provider.kind === 'datacenter'
        ? { ssh: provider.ssh, bmc: provider.bmc }
        : provider.kind === 'maas'
          ? { power: provider.power }
          : {};
    for (const [section, given] of Object.entries(sections)) {
      const source = given && 'credentials' in given ? given.credentials : undefined;
      if (source === undefined || source in credentials) continue;
      const known = Object.keys(credentials).join(', ') || 'none';
      return `providers.${name}.${section}.credentials: ${source} is not in credentials, which has ${known}`;
    }
  }
  return null;
}
