/** An error for people: the server's message, which has the id to search its log for, and what to do next. */
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.ts';
import { RestFailure } from './rest-failure.ts';

export interface Failure {
  readonly message: string;
  /** What to do next. */
  readonly advice: string;
}

const NOT_RESPONDING =
  'The server is not responding. The console retries automatically; check the server log if this continues.';

const ADVICE: Partial<Record<Code, string>> = {
  [Code.Unavailable]: NOT_RESPONDING,
  [Code.DeadlineExceeded]: 'The request timed out. Try again.',
  [Code.PermissionDenied]: 'Sign in with a token that has a higher role.',
  [Code.NotFound]: 'It may have been removed. Go back to the list.',
  [Code.Internal]: 'This is a server error. Search the server log for the id above.',
  [Code.Unknown]: NOT_RESPONDING,
};

/** What the server says to check, such as of a BMC: that is unavailable, and not the server. */
function checkOf(failure: ConnectError): string {
  const check = failure.findDetails(ErrorInfoSchema)[0]?.metadata.check ?? '';
  return check === '' ? '' : `Check: ${check}.`;
}

/** The server could not be reached or could not respond: a retry may succeed. */
export function isTransient(error: unknown): boolean {
  if (error instanceof RestFailure) return error.status >= 500;
  const transient: readonly Code[] = [Code.Unavailable, Code.DeadlineExceeded, Code.Unknown, Code.Internal];
  return transient.includes(ConnectError.from(error).code);
}

/** The server rejected the input; the page shows the error next to the field. */
export function isInvalid(error: unknown): boolean {
  return !(error instanceof RestFailure) && ConnectError.from(error).code === Code.InvalidArgument;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof RestFailure) return { message: error.message, advice: error.advice };
  const failure = ConnectError.from(error);
  return { message: failure.rawMessage, advice: checkOf(failure) || (ADVICE[failure.code] ?? '') };
}
