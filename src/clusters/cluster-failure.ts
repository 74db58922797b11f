/**
 * What a refused or lost request to an API server means to a step. Nothing of a request or of an answer's headers
 * gets into the message: both may hold a credential.
 */
import { ADDRESS_NOT_ALLOWED } from '../connections/address-rules.ts';
import { connectionProblem, notReachable } from '../domain/error/connection-words.ts';
import type { Failure } from '../domain/error/failure.ts';
import type { Outage } from '../engine/outage.ts';
import { StepFailure } from '../engine/step-handler.ts';

export class ClusterFailure extends StepFailure {
  /** Null: there was no answer. */
  readonly status: number | null;
  /** The API server's own reason; empty where it gave none. */
  readonly said: string;

  constructor(
    failure: Failure,
    status: number | null,
    details: { said?: string; outage?: Outage | null } = {},
  ) {
    super(failure, details.outage ?? null);
    this.name = 'ClusterFailure';
    this.status = status;
    this.said = details.said ?? '';
  }
}

const MAX_TEXT = 300;

/** TLS errors of a server that is not the one we expect, as opposed to one that does not answer. */
const CERTIFICATE_CODE = /CERT|ALTNAME|UNABLE_TO_(?:VERIFY|GET)|SELF_SIGNED/;

export function clusterFailure(error: unknown, cluster: string, doing: string): ClusterFailure {
  if (error instanceof ClusterFailure) return error;
  const { code, body } = error as { code?: unknown; body?: unknown };
  if (typeof code === 'number') return refused(code, body, cluster, doing);
  return unanswered(error, cluster, doing);
}

function refused(status: number, body: unknown, cluster: string, doing: string): ClusterFailure {
  const said = readStatus(body);
  const sentence = (text: string) => `${cluster} ${text} (${doing})`;
  if (status === 401) {
    const message = sentence('does not accept our credentials');
    return new ClusterFailure({ class: 'needs_human', code: 'CLUSTER_UNAUTHORIZED', message }, status);
  }
  if (status === 403) {
    const message = sentence(`does not allow it: ${said.message || 'forbidden'}`);
    return new ClusterFailure({ class: 'needs_human', code: 'CLUSTER_FORBIDDEN', message }, status);
  }
  const message = sentence(`answered ${status}${said.reason === '' ? '' : ` ${said.reason}`}`);
  if (status === 429 || status >= 500) {
    const failure = { class: 'retryable', code: 'CLUSTER_UNAVAILABLE', message } as const;
    const effect = AWAY[status];
    const outage = effect === undefined ? null : clusterOutage(cluster, effect);
    return new ClusterFailure(failure, status, { said: said.message, outage });
  }
  return new ClusterFailure({ class: 'permanent', code: 'CLUSTER_REFUSED', message }, status);
}

function unanswered(error: unknown, cluster: string, doing: string): ClusterFailure {
  const { code, name, type } = error as { code?: unknown; name?: unknown; type?: unknown };
  if (typeof code === 'string' && CERTIFICATE_CODE.test(code)) {
    const message = `${cluster} has a certificate that its ca_file does not vouch for: ${code} (${doing})`;
    return new ClusterFailure({ class: 'needs_human', code: 'CLUSTER_CERTIFICATE_INVALID', message }, null);
  }
  if (code === ADDRESS_NOT_ALLOWED) {
    const message = `${cluster} is at an address that is never connected to (${doing})`;
    return new ClusterFailure({ class: 'permanent', code: ADDRESS_NOT_ALLOWED, message }, null);
  }
  const late = name === 'AbortError' || name === 'TimeoutError' || type === 'aborted';
  const how = late ? 'did not answer in time' : `is ${notReachable(wordFor(code, error))}`;
  const message = `${cluster} ${how} (${doing})`;
  const failure = { class: 'retryable', code: 'CLUSTER_UNAVAILABLE', message } as const;
  const neverLeft = typeof code === 'string' && NOT_CONNECTED.has(code);
  const outage = clusterOutage(cluster, neverLeft ? 'none' : 'unknown');
  return new ClusterFailure(failure, null, { outage });
}

/** Statuses by which an API server, or what is before it, says that nothing can answer now. */
const AWAY: Readonly<Record<number, Outage['effect']>> = {
  429: 'none',
  502: 'unknown',
  503: 'none',
  504: 'unknown',
};

const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

function clusterOutage(name: string, effect: Outage['effect']): Outage {
  return { upstream: 'the cluster', name, effect };
}

function wordFor(code: unknown, error: unknown): string {
  if (typeof code === 'string') return connectionProblem(code)[1];
  return error instanceof SyntaxError ? 'its answer is not JSON' : 'the connection broke';
}

/** The Status object of the API, as far as an answer has one. Its causes say more than its message. */
function readStatus(body: unknown): { reason: string; message: string } {
  let status: unknown = body;
  if (typeof body === 'string') {
    try {
      status = JSON.parse(body);
    } catch {
      status = null;
    }
  }
  const { reason, message, details } = (status ?? {}) as {
    reason?: unknown;
    message?: unknown;
    details?: { causes?: readonly { message?: unknown }[] } | null;
  };
  const causes = Array.isArray(details?.causes) ? details.causes.map((cause) => brief(cause?.message)) : [];
  const text = [brief(message), ...causes].filter((part) => part !== '').join(' ');
  return { reason: brief(reason), message: text.slice(0, MAX_TEXT) };
}

function brief(text: unknown): string {
  return typeof text === 'string' ? text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').slice(0, MAX_TEXT) : '';
}
