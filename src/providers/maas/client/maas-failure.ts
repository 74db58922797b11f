/**
 * What a refused or lost request to MAAS means to a step. MAAS repeats in its answers what it was sent, so whatever of
 * them gets into a message has the request's secrets taken out first.
 */

import type { HttpAnswer } from '../../../connections/http-exchange.ts';
import { type Failure, type FailureCause, failureOf } from '../../../domain/error/failure.ts';
import type { Outage } from '../../../engine/outage.ts';
import { UpstreamFailure } from '../../upstream.ts';

export class MaasFailure extends UpstreamFailure {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** What MAAS asked us to wait for; null where it did not say. */
  readonly retryAfterMs: number | null;

  constructor(
    failure: Failure,
    answer: { status: number | null; retryAfterMs: number | null } = { status: null, retryAfterMs: null },
    outage: Outage | null = null,
  ) {
    super(failure, outage, isRefusal(answer.status) ? 'refused' : 'not_known');
    this.name = 'MaasFailure';
    this.status = answer.status;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/** MAAS received it and did not carry it out. Without an answer, or with one of a proxy, that is not known. */
function isRefusal(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408;
}

type Row = FailureCause & {
  readonly matches: (status: number) => boolean;
  readonly words: string;
};

/** The first row that matches counts. Whether a request may be sent again right away is for maas-api.ts to say. */
const ROWS: readonly Row[] = [
  {
    matches: (status) => status === 401,
    class: 'needs_human',
    code: 'MAAS_UNAUTHORIZED',
    words: 'does not accept our API key',
  },
  {
    matches: (status) => status === 403,
    class: 'needs_human',
    code: 'MAAS_FORBIDDEN',
    words: 'does not allow it',
  },
  {
    matches: (status) => status === 404,
    class: 'needs_human',
    code: 'MAAS_NOT_FOUND',
    words: 'has no such thing',
  },
  // The machine is not in a state for it, or two requests collided: to observe the machine again answers both.
  {
    matches: (status) => status === 409,
    class: 'retryable',
    code: 'MAAS_CONFLICT',
    words: 'is in conflict with it',
  },
  {
    matches: (status) => status === 408 || status === 429 || status >= 500,
    class: 'retryable',
    code: 'MAAS_UNAVAILABLE',
    words: "can't do it now",
  },
  // A redirect is not followed: our key must not be sent to another server.
  {
    matches: (status) => status >= 300 && status < 400,
    class: 'needs_human',
    code: 'MAAS_REFUSED',
    words: 'sends us elsewhere; its url must be where it answers',
  },
  { matches: () => true, class: 'needs_human', code: 'MAAS_REFUSED', words: 'calls the request wrong' },
];

export interface Asked {
  /** The provider's name. */
  readonly maas: string;
  readonly doing: string;
  readonly secrets: readonly string[];
}

export function refusal(answer: HttpAnswer, { maas, doing, secrets }: Asked): MaasFailure {
  const row = ROWS.find(({ matches }) => matches(answer.status));
  const said = brief(withoutSecrets(answer.body, secrets)) || WORDLESS[answer.status] || '';
  const detail = said === '' ? '' : `: ${said}`;
  const message = `${maas} ${row?.words} (${doing}, ${answer.status})${detail}`;
  return new MaasFailure(
    failureOf(row?.class ?? 'needs_human', row?.code ?? 'MAAS_REFUSED', message),
    answer,
    outageOf(answer, maas),
  );
}

/** What MAAS means where it says nothing. */
const WORDLESS: Readonly<Record<number, string>> = {
  403: 'without a reason, as it does where the machine is locked, or the user of our key is no administrator',
};

/** A MAAS that does not answer: the engine waits for it. */
export function maasOutage(maas: string, effect: Outage['effect'], retryAfterMs?: number | null): Outage {
  return { upstream: 'MAAS', name: maas, effect, ...(retryAfterMs && { retryAfterMs }) };
}

/** Statuses by which MAAS or the proxy before it says that nothing can answer now. */
const AWAY: Readonly<Record<number, Outage['effect']>> = {
  408: 'unknown',
  429: 'none',
  502: 'unknown',
  503: 'none',
  504: 'unknown',
};

function outageOf({ status, retryAfterMs }: HttpAnswer, maas: string): Outage | null {
  const effect = AWAY[status];
  return effect === undefined ? null : maasOutage(maas, effect, retryAfterMs);
}

export function unreadable({ maas, doing }: Asked, problem: string): MaasFailure {
  const message = `${maas} gave an answer that ${problem} (${doing})`;
  return new MaasFailure({ class: 'retryable', code: 'MAAS_ANSWER_UNREADABLE', message });
}

const MAX_TEXT = 300;
/** Shorter ones would be found in ordinary words. */
const MIN_SECRET = 4;

function withoutSecrets(text: string, secrets: readonly string[]): string {
  // The longest first: one that contains another must not leave its ends.
  const known = secrets.filter(({ length }) => length >= MIN_SECRET).sort((a, b) => b.length - a.length);
  let clean = text;
  for (const secret of known) {
    clean = clean.replaceAll(secret, '[secret]').replaceAll(encodeURIComponent(secret), '[secret]');
    // As JSON writes it.
    clean = clean.replaceAll(JSON.stringify(secret).slice(1, -1), '[secret]');
  }
  return clean;
}

/** An error page of a proxy is not worth repeating. */
function brief(text: string): string {
  if (/^\s*</.test(text)) return '';
  return text
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
}
