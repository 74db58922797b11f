/*
 * Credentials of machines by reference. The configuration names sources, and a provider names one of them; what a request may
 * set (a machine's id, its serial number) only fills placeholders, so no request can read another file or path. A credential is
 * looked up when it is used and stored nowhere.
 */
import { z } from 'zod';
import type { Machine } from '../domain/machine/machine.ts';
import type { Outage } from '../engine/outage.ts';
import { StepFailure } from '../engine/step-handler.ts';
import type { AddressRule } from './address-rules.ts';
import {
  CredentialProblem,
  filePath,
  readCredential,
  readReferredFile,
  variableName,
} from './credential-reference.ts';
import { fillTemplate, template } from './credential-template.ts';
import { type RotatingSecret, rotatingFile } from './rotating-secret.ts';
import { rotatingVaultSecret } from './vault/rotating-vault-secret.ts';
import { SourceUnavailable } from './vault/source-unavailable.ts';
import { VaultClient } from './vault/vault-client.ts';
import { vaultConfiguration } from './vault/vault-configuration.ts';

export const sourceName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a lower-case name');

/** Machines may name it in their spec. Otherwise an edit of a machine could have any credential sent to its endpoint. */
const perMachine = z.boolean().default(false);

const source = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('file'), path: filePath, per_machine: perMachine }),
    z.strictObject({ kind: z.literal('env'), variable: variableName, per_machine: perMachine }),
    /** One file for each machine. */
    z.strictObject({
      kind: z.literal('directory'),
      path: filePath,
      file: template.default('{machine_id}'),
      per_machine: perMachine,
    }),
    vaultConfiguration.extend({ per_machine: perMachine }),
  ],
  'must be one of file, env, directory, vault',
);

/** The section `credentials` of the configuration. */
export const credentialsConfiguration = z.record(sourceName, source).default({});
export type CredentialsConfiguration = z.output<typeof credentialsConfiguration>;

/** Fields that the credential has; a text that is no JSON object is a password, or a private key. */
export interface MachineCredential {
  /** Where it comes from, for messages. */
  readonly name: string;
  readonly user: string | null;
  readonly password: string | null;
  readonly privateKey: string | null;
  readonly passphrase: string | null;
}

export interface CredentialSource {
  /** Machines may name it in their spec. */
  readonly isPerMachine: boolean;
  /** Throws a StepFailure: needs_human where it can't be had, retryable where its source does not answer. */
  read(machine: Machine, signal: AbortSignal): Promise<MachineCredential>;
  /** How its passwords are replaced; null: a source of this kind can't be written. Failures are those of `read`. */
  readonly rotating: RotatingSecret | null;
}

export type CredentialSources = ReadonlyMap<string, CredentialSource>;

export interface CredentialSourceDependencies {
  readonly rule: AddressRule;
  readonly monotonicNow: () => number;
}

export function createCredentialSources(
  configuration: CredentialsConfiguration,
  dependencies: CredentialSourceDependencies,
): CredentialSources {
  return new Map(
    Object.entries(configuration).map(([name, given]) => {
      const isPerMachine = given.per_machine;
      const { read, rotating } = createAccess(name, given, dependencies);
      return [name, { isPerMachine, read, rotating: rotating && inTheirClasses(name, rotating) }];
    }),
  );
}

/** The source of a machine's credential. Null: the one login in the provider's section. */
export type SourceOfMachine = (machine: Machine) => CredentialSource | null;

/**
 * The source that the machine's spec names, or else the one that the provider's section does; that the latter exists, the start has
 * checked. Throws a StepFailure where machines may not name it.
 */
export function sourceOfMachine(
  sources: CredentialSources,
  field: 'bmc_credentials_ref' | 'ssh_credentials_ref',
  ofProvider: string | undefined,
): SourceOfMachine {
  return ({ machineId, spec }) => {
    const named = spec[field];
    if (named === '') return ofProvider === undefined ? null : (sources.get(ofProvider) ?? null);
    const found = sources.get(named);
    if (found?.isPerMachine) return found;
    const message = `spec.${field} of ${machineId} names ${named}, which is no source of credentials that machines may name`;
    throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message });
  };
}

function createAccess(
  name: string,
  given: CredentialsConfiguration[string],
  dependencies: CredentialSourceDependencies,
): Pick<CredentialSource, 'read' | 'rotating'> {
  switch (given.kind) {
    case 'file':
      return {
        read: local(() => parse(given.path, readReferredFile(given.path))),
        rotating: rotatingFile({ sharing: 'by all', pathOf: () => given.path, parse }),
      };
    case 'env':
      return {
        read: local(() => {
          const label = `the environment variable ${given.variable}`;
          return parse(label, readCredential({ env: given.variable }));
        }),
        rotating: null,
      };
    case 'directory': {
      const pathOf = (machine: Machine) => `${given.path}/${fillTemplate(given.file, machine)}`;
      return {
        read: local((machine) => parse(pathOf(machine), readReferredFile(pathOf(machine)))),
        rotating: rotatingFile({ sharing: sharingOf(given.file), pathOf, parse }),
      };
    }
    case 'vault': {
      const client = new VaultClient(name, given, dependencies);
      const pathOf = (machine: Machine) => fillTemplate(given.path, machine);
      const named = (path: string, found: Readonly<Record<string, unknown>>) =>
        fields(`${name}: ${path}`, found);
      return {
        read: (machine, signal) =>
          inClasses(name, async () => named(pathOf(machine), await client.read(pathOf(machine), signal))),
        rotating: rotatingVaultSecret({ client, sharing: sharingOf(given.path), pathOf, parse: named }),
      };
    }
  }
}

/** Where it is looked up by what only one machine has. */
function sharingOf(template: string): RotatingSecret['sharing'] {
  return /\{(?:machine_id|serial)\}/.test(template) ? 'own' : 'by all';
}

/** A password of a file that the provider itself names. */
export function rotatingPasswordFile(path: string): RotatingSecret {
  return inTheirClasses('', rotatingFile({ sharing: 'by all', pathOf: () => path, parse }));
}

function inTheirClasses(name: string, secret: RotatingSecret): RotatingSecret {
  return {
    sharing: secret.sharing,
    pending: (machine, signal) => inClasses(name, () => secret.pending(machine, signal)),
    prepare: (machine, password, signal) => inClasses(name, () => secret.prepare(machine, password, signal)),
    promote: (machine, signal) => inClasses(name, () => secret.promote(machine, signal)),
    drop: (machine, signal) => inClasses(name, () => secret.drop(machine, signal)),
  };
}

function local(read: (machine: Machine) => MachineCredential): CredentialSource['read'] {
  return (machine) => inClasses('', async () => read(machine));
}

async function inClasses<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SourceUnavailable) {
      const failure = { class: 'retryable', code: 'CREDENTIAL_SOURCE_UNAVAILABLE' } as const;
      const outage: Outage = { upstream: 'the source of credentials', name, effect: 'none' };
      throw new StepFailure({ ...failure, message: error.message }, outage);
    }
    if (!(error instanceof CredentialProblem)) throw error;
    throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message: error.message });
  }
}

function parse(name: string, text: string): MachineCredential {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{')) {
    const value = text.replace(/\r?\n$/, '');
    const isKey = trimmed.startsWith('-----BEGIN');
    return {
      name,
      user: null,
      passphrase: null,
      password: isKey ? null : value,
      privateKey: isKey ? text : null,
    };
  }
  let object: unknown;
  try {
    object = JSON.parse(trimmed);
  } catch {
    // The parser's own words quote the text.
    throw new CredentialProblem(`${name} is not valid JSON`);
  }
  return fields(name, object as Record<string, unknown>);
}

const NAMES = {
  user: ['username', 'user'],
  password: ['password'],
  privateKey: ['private_key'],
  passphrase: ['passphrase'],
} as const;

function fields(name: string, object: Readonly<Record<string, unknown>>): MachineCredential {
  const field = (key: keyof typeof NAMES): string | null => {
    const value = NAMES[key].map((one) => object[one]).find((one) => one !== undefined && one !== null);
    if (value !== undefined && typeof value !== 'string')
      throw new CredentialProblem(`${name}: ${NAMES[key][0]} is not a text`);
    return value ?? null;
  };
  return {
    name,
    user: field('user'),
    password: field('password'),
    privateKey: field('privateKey'),
    passphrase: field('passphrase'),
  };
}
