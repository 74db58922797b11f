/** The clusters that machines can join: where their API servers are, and which credentials we use there. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import {
  CredentialProblem,
  filePath,
  readCredential,
  readReferredFile,
  tryCredential,
  variableName,
} from '../connections/credential-reference.ts';

const fields = z.strictObject({
  server: z.string().refine(isServerUrl, 'must be an https:// URL without user, query or fragment'),
  ca_file: filePath,
  token_file: filePath.optional(),
  token_env: variableName.optional(),
  client_certificate_file: filePath.optional(),
  client_key_file: filePath.optional(),
  /** Where hosts reach the API server, if not where we do. */
  join_endpoint: z
    .string()
    .regex(/^(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):\d{1,5}$/, 'must be host:port')
    .optional(),
  request_timeout_seconds: z.number().min(1).max(120).default(15),
});

export type ClusterConfiguration = z.output<typeof fields>;

const clusterConfiguration = fields.superRefine((cluster, issues) => {
  tryCredential(issues, 'ca_file', () => readCertificates(cluster.ca_file));
  const { token_file, token_env, client_certificate_file, client_key_file } = cluster;
  const ways = [token_file, token_env, client_certificate_file ?? client_key_file];
  if (ways.filter((way) => way !== undefined).length !== 1) {
    const message =
      'needs exactly one of token_file, token_env, or client_certificate_file with client_key_file';
    issues.addIssue({ code: 'custom', path: [], message });
    return;
  }
  if (token_file !== undefined) tryCredential(issues, 'token_file', () => readToken(cluster));
  if (token_env !== undefined) tryCredential(issues, 'token_env', () => readToken(cluster));
  if (client_certificate_file === undefined && client_key_file === undefined) return;
  if (client_certificate_file === undefined || client_key_file === undefined) {
    const missing = client_key_file === undefined ? 'client_key_file' : 'client_certificate_file';
    issues.addIssue({ code: 'custom', path: [missing], message: 'is missing beside its other half' });
    return;
  }
  tryCredential(issues, 'client_certificate_file', () => readCertificates(client_certificate_file));
  tryCredential(issues, 'client_key_file', () => readClientKey(client_key_file, client_certificate_file));
});

export const clustersConfiguration = z
  .record(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,252}$/, "must be a cluster's name"),
    clusterConfiguration,
  )
  .default({});

function isServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const bare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return url.protocol === 'https:' && bare;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

export function readCertificates(file: string): X509Certificate[] {
  const blocks = readReferredFile(file).match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new CredentialProblem(`${file} holds no PEM certificate`);
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    throw new CredentialProblem(`${file} holds a certificate that can't be parsed`);
  }
}

export function readClientKey(file: string, certificateFile: string): string {
  const pem = readReferredFile(file);
  let fits: boolean;
  try {
    const key = createPrivateKey(pem);
    fits = readCertificates(certificateFile)[0]?.checkPrivateKey(key) ?? false;
  } catch (error) {
    if (error instanceof CredentialProblem) throw error;
    throw new CredentialProblem(`${file} holds no unencrypted PEM private key`);
  }
  if (!fits) throw new CredentialProblem(`${file} is not the key of ${certificateFile}`);
  return pem;
}

/** Null: a certificate authenticates us to this cluster. */
export function readToken(cluster: Pick<ClusterConfiguration, 'token_file' | 'token_env'>): string | null {
  const { token_file: file, token_env: env } = cluster;
  if (file === undefined && env === undefined) return null;
  const token = readCredential({ file, env }).trim();
  if (!/^[\x21-\x7e]{1,16384}$/.test(token)) {
    throw new CredentialProblem(`${file ?? `the environment variable ${env}`} holds no bearer token`);
  }
  return token;
}
