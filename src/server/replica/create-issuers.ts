import { Issuers } from '../../surfaces/access/oidc/issuers.ts';
import type { ReplicaOptions } from './replica-options.ts';

/** The messages of an error and its causes. Its other fields may hold what an issuer sent, tokens among it. */
export function causesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? '' : `: ${causesOf(error.cause)}`;
  return `${error.message}${cause}`.slice(0, 1_000);
}

export function createIssuers({ configuration, log }: ReplicaOptions): Issuers {
  const issuers = new Issuers({
    issuers: configuration.oidc,
    roles: configuration.roles,
    now: Date.now,
    onProblem: (issuer, problem) =>
      log.warn({ issuer, problem: causesOf(problem) }, 'the keys of an issuer cannot be read'),
  });
  issuers.warm();
  return issuers;
}
