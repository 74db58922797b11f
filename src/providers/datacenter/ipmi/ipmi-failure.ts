/** What a failed call of ipmitool means. Its output is matched, never repeated: it may have anything in it. */
import { type Failure, type FailureCause, failureOf } from '../../../domain/error/failure.ts';
import type { IpmitoolEnd } from './ipmitool.ts';

/** What went wrong between us and a BMC, as a probe reports it. */
export type IpmiReason =
  | 'AuthenticationFailed'
  | 'PrivilegeRefused'
  | 'CipherSuiteRefused'
  | 'NoFreeSession'
  | 'NoAnswer'
  | 'CommandRefused';

type Row = FailureCause & {
  readonly reason: IpmiReason;
  readonly matches: RegExp;
  readonly words: string;
};

/** The first row that matches counts: ipmitool ends every failed login with the message of the last row. */
const ROWS: readonly Row[] = [
  {
    reason: 'AuthenticationFailed',
    matches: /HMAC is invalid|unauthorized name|invalid integrity check value|unauthorized GUID/i,
    class: 'needs_human',
    code: 'AUTHENTICATION_FAILED',
    words: 'does not accept our user and password',
  },
  {
    reason: 'PrivilegeRefused',
    matches: /unauthorized role|invalid role|insufficient privilege|privilege level/i,
    class: 'needs_human',
    code: 'PRIVILEGE_REFUSED',
    words: 'does not give our user the privilege that was asked for',
  },
  {
    reason: 'CipherSuiteRefused',
    matches:
      /invalid (?:authentication|integrity|confidentiality) algorithm|no cipher suite|cipher suite match/i,
    class: 'permanent',
    code: 'CIPHER_SUITE_REFUSED',
    words: 'does not accept the cipher suite',
  },
  {
    reason: 'NoFreeSession',
    matches: /insufficient resources/i,
    class: 'retryable',
    code: 'BMC_BUSY',
    words: 'has no free session',
  },
  {
    reason: 'NoAnswer',
    matches: /unable to establish|no response|timed? ?out|Get Auth Capabilities|address lookup/i,
    class: 'retryable',
    code: 'UNREACHABLE',
    words: 'does not answer',
  },
];

export interface IpmiFailure {
  readonly reason: IpmiReason;
  readonly failure: Failure;
}

export function ipmiFailure(where: string, command: string, end: IpmitoolEnd): IpmiFailure {
  const row = ROWS.find(({ matches }) => matches.test(end.stderr));
  if (row) {
    const { reason, code, words } = row;
    return { reason, failure: failureOf(row.class, code, `the BMC ${where} ${words}`) };
  }
  // A completion code as ipmitool prints it, such as "Command not supported in present state".
  const [, completion] = COMPLETION.exec(end.stderr) ?? [];
  if (completion !== undefined && !end.outOfTime) {
    const message = `the BMC ${where} refused "${command}": ${completion}`;
    return { reason: 'CommandRefused', failure: { class: 'retryable', code: 'BMC_REFUSED', message } };
  }
  const message = `the BMC ${where} did not answer "${command}" in time`;
  return { reason: 'NoAnswer', failure: { class: 'retryable', code: 'UNREACHABLE', message } };
}

const COMPLETION = /(?:failed(?: because)?|rsp=0x[0-9a-f]{1,2}\)): ([A-Za-z0-9 ,()/_-]{1,120})$/m;
