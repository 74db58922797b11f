/** What went wrong, in words for people: what the server said, and the id that its log has. */
import { Code, ConnectError } from '@connectrpc/connect';
import { RestFailure } from './rest.ts';

export interface Failure {
  readonly message: string;
  /** What to do next. */
  readonly advice: string;
}

const ADVICE: Partial<Record<Code, string>> = {
  [Code.Unavailable]:
    'The server does not answer. It is asked again by itself; look at its log if this lasts.',
  [Code.DeadlineExceeded]: 'The server took too long. Try again.',
  [Code.PermissionDenied]: 'Sign in with a token of a higher role.',
  [Code.NotFound]: 'It may have been removed. Go back to the list.',
  [Code.Internal]: 'This is a fault of the server. Its log has more, under the id above.',
  [Code.Unknown]: 'The server does not answer. It is asked again by itself; look at its log if this lasts.',
};

/** The server could not be asked, or could not answer: it may, the next time. */
export function isAway(error: unknown): boolean {
  if (error instanceof RestFailure) return error.status >= 500;
  const away: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.Unknown, Code.Internal];
  return away.includes(ConnectError.from(error).code);
}

/** What was asked is not well formed; whoever typed it is told where he typed it. */
export function isInvalid(error: unknown): boolean {
  return !(error instanceof RestFailure) && ConnectError.from(error).code === Code.InvalidArgument;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof RestFailure) return { message: error.message, advice: error.advice };
  const failure = ConnectError.from(error);
  return { message: failure.rawMessage, advice: ADVICE[failure.code] ?? '' };
}
