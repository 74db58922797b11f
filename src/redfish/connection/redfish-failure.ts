/** What went wrong between us and a Redfish service: the class that the engine needs, and the reason that a probe reports. */

import type { NoAnswer, NoAnswerReason } from '../../connections/http-exchange.ts';
import { connectionProblem } from '../../domain/error/connection-words.ts';
import type { FailureCause } from '../../domain/error/failure.ts';
import type { Outage } from '../../engine/outage.ts';
import { StepFailure } from '../../engine/step-handler.ts';

type Row = FailureCause & {
  readonly words: string;
  /** It did not answer: whether the request may have been carried out. */
  readonly outage?: Outage['effect'];
};

/** The keys are the reasons of the condition BMCReachable. */
const ROWS = {
  AuthenticationFailed: {
    class: 'needs_human',
    code: 'AUTHENTICATION_FAILED',
    words: 'does not accept our user and password',
  },
  PrivilegeRefused: {
    class: 'needs_human',
    code: 'PRIVILEGE_REFUSED',
    words: 'does not give our user the privilege that was asked for',
  },
  Busy: { class: 'retryable', code: 'BMC_BUSY', words: 'is busy', outage: 'none' },
  NoAnswer: { class: 'retryable', code: 'UNREACHABLE', words: 'does not answer', outage: 'unknown' },
  NotReachable: { class: 'retryable', code: 'UNREACHABLE', words: 'is not reachable', outage: 'none' },
  CommandRefused: { class: 'retryable', code: 'BMC_REFUSED', words: 'refused' },
  CertificateUntrusted: {
    class: 'needs_human',
    code: 'BMC_CERTIFICATE_UNTRUSTED',
    words: 'has a certificate that is not trusted',
  },
  NotRedfish: { class: 'needs_human', code: 'NOT_REDFISH', words: 'is no Redfish service' },
  Unreadable: {
    class: 'retryable',
    code: 'REDFISH_UNREADABLE',
    words: 'gave an answer that can not be read',
  },
  SystemNotFound: {
    class: 'permanent',
    code: 'REDFISH_SYSTEM_NOT_FOUND',
    words: 'does not have the system',
  },
  NotOffered: { class: 'permanent', code: 'REDFISH_NOT_OFFERED', words: 'does not offer it' },
} as const satisfies Record<string, Row>;

export type RedfishReason = keyof typeof ROWS;

export class RedfishFailure extends StepFailure {
  readonly reason: RedfishReason;
  readonly where: string;
  readonly detail: string;

  /** `detail` follows the words of the reason; never text that could hold a secret. */
  constructor(reason: RedfishReason, where: string, detail = '', retryAfterMs?: number) {
    const row: Row = ROWS[reason];
    // Viewers do not see why it is not reachable (connection-words.ts).
    const ending = reason === 'NotReachable' ? ` (${detail})` : detail === '' ? '' : `: ${detail}`;
    const message = `the BMC ${where} ${row.words}${ending}`;
    const outage =
      row.outage === undefined
        ? null
        : { upstream: 'the BMC', name: where, effect: row.outage, retryAfterMs };
    super({ class: row.class, code: row.code, message } as StepFailure['failure'], outage);
    this.reason = reason;
    this.where = where;
    this.detail = detail;
  }
}

const NO_ANSWER: Readonly<Record<NoAnswerReason, RedfishReason>> = {
  unreachable: 'NotReachable',
  late: 'NoAnswer',
  broken: 'NoAnswer',
  too_large: 'Unreadable',
  certificate: 'CertificateUntrusted',
};

/** What answers is no TLS, or none of a version that is taken. */
const NO_TLS = /^(?:EPROTO|ERR_SSL_)/;

export function failureWithoutAnswer(where: string, { reason, code }: NoAnswer): RedfishFailure {
  // Waiting changes nothing of it.
  if (reason === 'unreachable' && NO_TLS.test(code))
    return new RedfishFailure('NotRedfish', where, `it has no TLS that can be used (${code})`);
  const detail = {
    unreachable: connectionProblem(code)[1],
    late: 'no answer in time',
    broken: 'the connection broke',
    too_large: code,
    certificate: 'the TLS handshake failed',
  }[reason];
  return new RedfishFailure(NO_ANSWER[reason], where, detail);
}
