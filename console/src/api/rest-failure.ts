export class RestFailure extends Error {
  readonly status: number;
  readonly advice: string;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
    this.advice = status === 403 ? 'Sign in with a token that has a higher role.' : '';
  }
}

/** The error of an answer: what the server says is wrong, or at least its status. */
export function restFailure(status: number, answer: Readonly<Record<string, unknown>>): RestFailure {
  const message = [answer.message, answer.detail, answer.error, answer.title].find(
    (text) => typeof text === 'string' && text !== '',
  );
  return new RestFailure(status, String(message ?? `the server responded with status ${status}`));
}
