/**
 * Requests to one MAAS. Each has a time limit, waits in this MAAS' own queue, fails at once while the MAAS does not
 * answer, and fails as a MaasFailure.
 *
 * A read that broke, or that MAAS could not do at the moment, is sent again right away, after the pause that MAAS asks for;
 * a request that collided with another one (409) once. Any other write is never repeated here: its sender observes first,
 * and the engine spaces what is repeated. Nor is a request that ran into its time limit: a long wait belongs into the
 * engine, where it costs nothing.
 */

import { createHash, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Agent } from 'node:http';
import { type AddressRule, allowedAgent } from '../../../connections/address-rules.ts';
import { CredentialProblem } from '../../../connections/credential-reference.ts';
import { exchange, type HttpAnswer, NoAnswer } from '../../../connections/http-exchange.ts';
import { connectionProblem, notReachable } from '../../../domain/error/connection-words.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import { sleep } from '../../../time/sleep.ts';
import type { ProviderCall } from '../../provider.ts';
import {
  type MaasApiKey,
  type MaasConfiguration,
  readApiKey,
  readCertificateFile,
} from '../maas-configuration.ts';
import { AnswerBreaker, type Entry } from './answer-breaker.ts';
import type { MaasReadCall } from './maas-control.ts';
import { type Asked, MaasFailure, maasOutage, refusal, unreadable } from './maas-failure.ts';
import { oauthHeader } from './oauth-header.ts';
import { Semaphore } from './semaphore.ts';

/** Names may come more than once. */
export type Parameters = readonly (readonly [name: string, value: string])[];

export interface MaasRead {
  readonly doing: string;
  /** Below /MAAS/api/2.0/, with the slash at its end that MAAS insists on. */
  readonly path: string;
  readonly query?: Parameters;
  /** MAAS asks a BMC before it answers. */
  readonly asksBmc?: true;
}

export interface MaasWrite {
  readonly doing: string;
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly op?: string;
  readonly form?: Parameters;
  /** What of the form must not come back in a message. */
  readonly secrets?: readonly string[];
}

export type MaasWriteCall = Pick<ProviderCall, 'signal' | 'checkHeld'>;

export interface MaasApiOptions {
  /** Where the MAAS may be. */
  readonly rule: AddressRule;
  readonly name: string;
  readonly configuration: MaasConfiguration;
  readonly now: () => number;
  readonly monotonicNow: () => number;
  readonly random: () => number;
}

interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly form: Parameters | null;
  readonly asksBmc: boolean;
  readonly limitMs: number;
  readonly agent: Agent;
  readonly asked: Omit<Asked, 'maas'>;
  readonly beforeSending: () => void;
}

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 250;
/** A longer wait belongs into the engine. */
const MAX_RETRY_AFTER_MS = 15_000;
/** A machine with many disks and interfaces takes some 100 KB; lists are asked for in parts. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Requests that wait for a BMC must not take the places of all others. */
const BMC_LANE_WIDTH = 4;

export class MaasApi {
  readonly #options: MaasApiOptions;
  readonly #base: URL;
  readonly #lane: Semaphore;
  readonly #bmcLane: Semaphore;
  readonly #breaker: AnswerBreaker;
  readonly #reading: Agent;
  readonly #writing: Agent;

  constructor(options: MaasApiOptions) {
    this.#options = options;
    const { name: maas, configuration, monotonicNow, random } = options;
    this.#base = new URL(`${configuration.url.replace(/\/+$/, '')}/api/2.0/`);
    const maxWaitMs = configuration.queue_timeout_seconds * 1000;
    this.#lane = new Semaphore({ maas, width: configuration.concurrency, maxWaitMs });
    this.#bmcLane = new Semaphore({ maas, width: BMC_LANE_WIDTH, maxWaitMs });
    const trialMs = configuration.power_query_timeout_seconds * 1000;
    this.#breaker = new AnswerBreaker({ maas, monotonicNow, random, trialMs });
    const { ca_file: file } = configuration;
    const tls = {
      rejectUnauthorized: true,
      ...(file === undefined ? {} : { ca: readCertificateFile(file) }),
    };
    const agent = (kept: { keepAlive: boolean }) =>
      allowedAgent(this.#base, options.rule, { ...kept, ...tls });
    this.#reading = agent({ keepAlive: true });
    // MAAS may close a kept connection just as we send; a read is repeated then, a write can't be.
    this.#writing = agent({ keepAlive: false });
  }

  /** The answer as JSON, for its reader to check. */
  async read(call: MaasReadCall, { doing, path, query = [], asksBmc }: MaasRead): Promise<unknown> {
    const { configuration } = this.#options;
    const { power_query_timeout_seconds: bmcSeconds, request_timeout_seconds: seconds } = configuration;
    return this.#repeatedly(call.signal, {
      method: 'GET',
      url: this.#url(path, query),
      form: null,
      asksBmc: asksBmc === true,
      limitMs: (asksBmc ? bmcSeconds : seconds) * 1000,
      agent: this.#reading,
      asked: { doing, secrets: [] },
      beforeSending: () => {},
    });
  }

  /** The answer as JSON where it is JSON, otherwise as text. */
  async write(
    call: MaasWriteCall,
    { doing, method, path, op, form = [], secrets = [] }: MaasWrite,
  ): Promise<unknown> {
    return this.#repeatedly(call.signal, {
      method,
      url: this.#url(path, op === undefined ? [] : [['op', op]]),
      form: method === 'DELETE' ? null : form,
      asksBmc: false,
      limitMs: this.#options.configuration.request_timeout_seconds * 1000,
      agent: this.#writing,
      asked: { doing, secrets },
      beforeSending: () => call.checkHeld(),
    });
  }

  /** Differs for each key, and reveals nothing of it: what is known of one key's user must not count for the next key. */
  keyId(): string {
    const { consumer, token } = this.#readKey();
    return createHash('sha256').update(`${consumer}:${token}`).digest('hex');
  }

  #url(path: string, query: Parameters): URL {
    const url = new URL(path, this.#base);
    for (const [name, value] of query) url.searchParams.append(name, value);
    return url;
  }

  async #repeatedly(signal: AbortSignal, request: Request): Promise<unknown> {
    // A whole fleet may share one signal: so many listeners are no leak.
    setMaxListeners(0, signal);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(signal, request);
      } catch (error) {
        const pauseMs = error instanceof MaasFailure ? this.#pauseMs(error, request, attempt) : null;
        if (pauseMs === null) throw error;
        await sleep(pauseMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** How long to wait before the request is sent again; null where it is not. */
  #pauseMs(failure: MaasFailure, { method, asksBmc }: Request, attempt: number): number | null {
    const { status, retryAfterMs } = failure;
    // MAAS gives no time when the machine is not in a state for it; one more try distinguishes that from a lost race.
    const most = status === 409 && retryAfterMs === null ? 2 : MAX_ATTEMPTS;
    // A BMC that does not answer stays so for longer than a request should hold its place in the queue.
    if (asksBmc || attempt >= most || (retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) return null;
    const isRead =
      method === 'GET' && failure.failure.class === 'retryable' && !(failure instanceof LateAnswer);
    if (status !== 409 && !isRead) return null;
    const backoffMs = FIRST_PAUSE_MS * 2 ** (attempt - 1);
    return (retryAfterMs ?? 0) + backoffMs * (0.5 + this.#options.random() / 2);
  }

  async #once(signal: AbortSignal, request: Request): Promise<unknown> {
    this.#breaker.check();
    const lane = request.asksBmc ? this.#bmcLane : this.#lane;
    return lane.run(signal, async () => {
      const key = this.#readKey();
      // Again: a request that waited behind others which got no answer fails at once.
      const entry = this.#breaker.enter();
      const { consumer, token, secret } = key;
      const asked: Asked = {
        maas: this.#options.name,
        doing: request.asked.doing,
        secrets: [...request.asked.secrets, consumer, token, secret],
      };
      const answer = await this.#exchange(request, key, { signal, entry, asked });
      if (answer.status >= 300) throw refusal(answer, asked);
      return parseAnswer(answer, request.method, asked);
    });
  }

  async #exchange(
    request: Request,
    key: MaasApiKey,
    { signal, entry, asked }: { signal: AbortSignal; entry: Entry; asked: Asked },
  ): Promise<HttpAnswer> {
    const { method, url, form, agent, limitMs, beforeSending } = request;
    const body = form === null ? null : encodeForm(form);
    try {
      const answer = await exchange({
        ...{ method, url, body, agent, limitMs, signal, beforeSending },
        headers: {
          Authorization: oauthHeader(key, { nonce: randomUUID(), nowMs: this.#options.now() }),
          Accept: 'application/json',
          ...(body === null ? {} : formHeaders(body)),
        },
        maxAnswerBytes: MAX_ANSWER_BYTES,
      });
      // A proxy answers so where nothing behind it does.
      if (answer.status === 502) this.#breaker.unanswered(entry);
      else this.#breaker.answered();
      return answer;
    } catch (error) {
      if (!(error instanceof NoAnswer)) {
        this.#breaker.left(entry);
        throw error;
      }
      // A late answer may be the BMC's fault, and a wrong certificate is no missing answer: neither opens the breaker.
      const tellsNothing = error.reason === 'late' ? request.asksBmc : error.reason === 'certificate';
      if (tellsNothing) this.#breaker.left(entry);
      else if (error.reason === 'too_large') this.#breaker.answered();
      else this.#breaker.unanswered(entry);
      throw noAnswer(error, asked);
    }
  }

  #readKey(): MaasApiKey {
    try {
      return readApiKey(this.#options.configuration);
    } catch (error) {
      if (!(error instanceof CredentialProblem)) throw error;
      throw new StepFailure({ class: 'needs_human', code: 'CREDENTIAL_UNREADABLE', message: error.message });
    }
  }
}

/** The request ran into its time limit: it is not sent again right away. */
export class LateAnswer extends MaasFailure {}

const AWAY = { class: 'retryable', code: 'MAAS_UNAVAILABLE' } as const;
const NONE = { status: null, retryAfterMs: null };

function noAnswer({ reason, code }: NoAnswer, { maas, doing }: Asked): MaasFailure {
  switch (reason) {
    case 'late': {
      const message = `${maas} did not answer in time (${doing})`;
      return new LateAnswer({ ...AWAY, message }, NONE, maasOutage(maas, 'unknown'));
    }
    case 'unreachable': {
      const message = `${maas} is ${notReachable(connectionProblem(code)[1])} (${doing})`;
      return new MaasFailure({ ...AWAY, message }, NONE, maasOutage(maas, 'none'));
    }
    case 'broken': {
      const message = `${maas} broke off its answer (${doing})`;
      const failure = { class: 'retryable', code: 'MAAS_ANSWER_LOST', message } as const;
      return new MaasFailure(failure, NONE, maasOutage(maas, 'unknown'));
    }
    case 'too_large':
      return new MaasFailure({
        class: 'needs_human',
        code: 'MAAS_ANSWER_TOO_LARGE',
        message: `${maas} gave an answer that is too large: ${code} (${doing})`,
      });
    case 'certificate':
      return new MaasFailure({
        class: 'needs_human',
        code: 'MAAS_CERTIFICATE_INVALID',
        message: `${maas} has a certificate that no authority we trust has signed: ${code} (${doing})`,
      });
  }
}

function parseAnswer({ body, isJson }: HttpAnswer, method: Request['method'], asked: Asked): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    // Some writes are answered with a word, or with nothing.
    if (method !== 'GET' && !isJson) return body;
    throw unreadable(asked, 'is not JSON');
  }
}

function encodeForm(form: Parameters): string {
  const body = new URLSearchParams();
  for (const [name, value] of form) body.append(name, value);
  return body.toString();
}

function formHeaders(body: string): Record<string, string> {
  return {
    'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
  };
}
