/*
 * Reads from a Vault, and writes where a password is rotated: /v1/<mount>/data/<path>, with a token that is given or that an AppRole login gets. A token that
 * expires is renewed in the last third of its life, and replaced by a new login where that fails. A refused read makes one new
 * login, because tokens can be revoked. An answer is shared by those that ask within a second, and kept no longer.
 */
import type { Agent } from 'node:http';
import { connectionProblem, notReachable } from '../../domain/error/connection-words.ts';
import { type AddressRule, allowedAgent } from '../address-rules.ts';
import { CredentialProblem, readReferredFile } from '../credential-reference.ts';
import { exchange, type HttpAnswer, NoAnswer } from '../http-exchange.ts';
import { unlessAborted } from '../unless-aborted.ts';
import { SourceUnavailable } from './source-unavailable.ts';
import { readSecret, type VaultConfiguration } from './vault-configuration.ts';

export interface VaultDependencies {
  readonly rule: AddressRule;
  readonly monotonicNow: () => number;
}

interface Token {
  readonly text: string;
  /** On the monotonic clock; infinite where it does not expire. */
  readonly renewAt: number;
  readonly endsAt: number;
  readonly renewable: boolean;
}

export interface VersionedSecret {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly version: number;
}

interface Kept {
  readonly until: number;
  readonly answer: Promise<Readonly<Record<string, unknown>>>;
}

const KEPT_MS = 1_000;
const MAX_KEPT = 1_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

export class VaultClient {
  readonly #name: string;
  readonly #configuration: VaultConfiguration;
  readonly #dependencies: VaultDependencies;
  readonly #kept = new Map<string, Kept>();
  #token: Promise<Token> | null = null;

  constructor(name: string, configuration: VaultConfiguration, dependencies: VaultDependencies) {
    this.#name = name;
    this.#configuration = configuration;
    this.#dependencies = dependencies;
  }

  /** The fields of a secret. Throws SourceUnavailable, or a CredentialProblem that quotes nothing of an answer. */
  read(path: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const now = this.#dependencies.monotonicNow();
    const kept = this.#kept.get(path);
    if (kept && kept.until > now) return unlessAborted(kept.answer, signal);
    if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
    const answer = this.#read(path);
    this.#kept.set(path, { until: now + KEPT_MS, answer });
    const forget = () => this.#kept.delete(path);
    answer.catch(forget);
    return unlessAborted(answer, signal);
  }

  /** Never a shared answer: what is written is made from it. */
  async readNewest(path: string): Promise<VersionedSecret> {
    const answer = await this.#withToken('GET', path);
    if (answer.status === 403) throw this.#problem(`does not allow to read ${path}`);
    const found = this.#body(answer)?.data as { data?: unknown; metadata?: unknown } | null | undefined;
    if (answer.status === 404) throw this.#problem(notFound(path, found?.metadata));
    if (answer.status !== 200 || typeof found?.data !== 'object' || found.data === null)
      throw this.#problem(`answered ${answer.status} without a secret of KV version 2 at ${path}`);
    const { version } = (found.metadata ?? {}) as { version?: unknown };
    return {
      fields: found.data as VersionedSecret['fields'],
      version: Number.isSafeInteger(version) ? (version as number) : 0,
    };
  }

  /** A new version of a secret, made from `version`: another one meanwhile is kept, and the write is tried again later. */
  async write(path: string, fields: VersionedSecret['fields'], version: number): Promise<void> {
    const body = JSON.stringify({ options: { cas: version }, data: fields });
    const answer = await this.#withToken('POST', path, body);
    this.#kept.delete(path);
    if (answer.status === 403) throw this.#problem(`does not allow to write ${path}`);
    if (answer.status === 400) throw new SourceUnavailable(`${this.#name} has a newer version of ${path}`);
    if (answer.status >= 300) throw this.#problem(`answered ${answer.status} to a new version of ${path}`);
  }

  async #read(path: string): Promise<VersionedSecret['fields']> {
    return (await this.readNewest(path)).fields;
  }

  async #withToken(method: 'GET' | 'POST', path: string, body: string | null = null): Promise<HttpAnswer> {
    const { mount, auth } = this.#configuration;
    const target = `${mount}/data/${path}`;
    const answer = await this.#send(method, target, { token: (await this.#currentToken()).text, body });
    if (answer.status !== 403 || auth.method !== 'approle') return answer;
    this.#token = null;
    return this.#send(method, target, { token: (await this.#currentToken()).text, body });
  }

  async #currentToken(): Promise<Token> {
    const { auth } = this.#configuration;
    if (auth.method === 'token') {
      const text = readSecret({ file: auth.token_file, env: auth.token_env });
      return { text, renewAt: Infinity, endsAt: Infinity, renewable: false };
    }
    const known = await this.#token?.catch(() => null);
    const now = this.#dependencies.monotonicNow();
    if (known && now < known.renewAt) return known;
    const next = known?.renewable && now < known.endsAt ? this.#renewed(known) : this.#loggedIn();
    this.#token = next;
    const forget = () => {
      if (this.#token === next) this.#token = null;
    };
    next.catch(forget);
    return next;
  }

  async #renewed(token: Token): Promise<Token> {
    const answer = await this.#send('POST', 'auth/token/renew-self', { token: token.text, body: '{}' });
    return answer.status === 200 ? this.#tokenOf(answer) : this.#loggedIn();
  }

  async #loggedIn(): Promise<Token> {
    const { auth } = this.#configuration;
    if (auth.method !== 'approle') throw new Error('only an AppRole logs in');
    const secretId = readSecret({ file: auth.secret_id_file, env: auth.secret_id_env });
    const body = JSON.stringify({ role_id: auth.role_id, secret_id: secretId });
    const answer = await this.#send('POST', `auth/${auth.mount}/login`, { body });
    if (answer.status === 404) throw this.#problem(`has no AppRole at auth/${auth.mount}`);
    if (answer.status !== 200) throw this.#problem('does not accept our AppRole');
    return this.#tokenOf(answer);
  }

  #tokenOf(answer: HttpAnswer): Token {
    const auth = this.#body(answer)?.auth as
      | { client_token?: unknown; lease_duration?: unknown; renewable?: unknown }
      | undefined;
    if (typeof auth?.client_token !== 'string') throw this.#problem('gave no token');
    const seconds = Number(auth.lease_duration ?? 0);
    const now = this.#dependencies.monotonicNow();
    const lifeMs = seconds > 0 ? seconds * 1000 : Infinity;
    return {
      text: auth.client_token,
      renewAt: now + (lifeMs * 2) / 3,
      endsAt: now + lifeMs,
      renewable: auth.renewable === true,
    };
  }

  async #send(
    method: 'GET' | 'POST',
    path: string,
    { token, body = null }: { readonly token?: string; readonly body?: string | null },
  ): Promise<HttpAnswer> {
    const { address, namespace, timeout_seconds: seconds } = this.#configuration;
    const url = new URL(`/v1/${path}`, address);
    let answer: HttpAnswer;
    try {
      answer = await exchange({
        ...{ method, url, body, agent: this.#agent(url), limitMs: seconds * 1000 },
        headers: {
          'X-Vault-Request': 'true',
          ...(token === undefined ? {} : { 'X-Vault-Token': token }),
          ...(namespace === undefined ? {} : { 'X-Vault-Namespace': namespace }),
          ...(body === null
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
        },
        maxAnswerBytes: MAX_ANSWER_BYTES,
        signal: new AbortController().signal,
        beforeSending: () => {},
      });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      throw this.#unanswered(error);
    }
    const { status } = answer;
    if (isForLater(status)) throw new SourceUnavailable(`${this.#name} can't answer now (${status})`);
    return answer;
  }

  /** Made for each request: a CA file that was replaced counts at once. */
  #agent(url: URL): Agent {
    const { ca_file: file } = this.#configuration;
    const ca = file === undefined || url.protocol !== 'https:' ? {} : { ca: readReferredFile(file) };
    return allowedAgent(url, this.#dependencies.rule, { keepAlive: false, rejectUnauthorized: true, ...ca });
  }

  #unanswered({ reason, code }: NoAnswer): Error {
    switch (reason) {
      case 'late':
        return new SourceUnavailable(`${this.#name} does not answer in time`);
      case 'unreachable':
        return new SourceUnavailable(`${this.#name} is ${notReachable(connectionProblem(code)[1])}`);
      case 'broken':
        return new SourceUnavailable(`${this.#name} broke off its answer`);
      case 'too_large':
        return this.#problem('gave an answer that is too large');
      case 'certificate':
        return this.#problem(`has a certificate that no authority we trust has signed: ${code}`);
    }
  }

  #body({ body }: HttpAnswer): Readonly<Record<string, unknown>> | null {
    try {
      return JSON.parse(body) as Readonly<Record<string, unknown>>;
    } catch {
      return null;
    }
  }

  #problem(what: string): CredentialProblem {
    return new CredentialProblem(`${this.#name} ${what}`);
  }
}

/** Sealed, a standby that forwards nothing, overloaded, or not yet consistent. */
function isForLater(status: number): boolean {
  const isStandby = status >= 472 && status <= 474;
  return isStandby || status >= 500 || status === 429 || status === 412 || (status >= 300 && status < 400);
}

/** A version that was deleted is answered with its metadata. */
function notFound(path: string, metadata: unknown): string {
  if (typeof metadata !== 'object' || metadata === null) return `has no secret ${path}`;
  const { version, destroyed } = metadata as { version?: unknown; destroyed?: unknown };
  const number = Number.isSafeInteger(version) ? ` (version ${version})` : '';
  return `has no secret ${path} any more: it was ${destroyed === true ? 'destroyed' : 'deleted'}${number}`;
}
