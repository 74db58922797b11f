/** Wrong arguments. Nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The single mistakes, if there are several. */
  readonly details: readonly string[];

  constructor(message: string, details: readonly string[] = []) {
    super(message);
    this.details = details;
  }
}

/** The user declined, or there was no terminal to ask on. Nothing was done. */
export class Declined extends Error {
  override readonly name = 'Declined';
}
