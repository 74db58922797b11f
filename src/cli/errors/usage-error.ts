/** The command was typed wrong; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** Each mistake, where there are several. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}

/** Somebody answered no, or nobody could be asked; nothing was done. */
export class Declined extends Error {
  override readonly name = 'Declined';
}
