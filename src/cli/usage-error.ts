/** The command was typed wrong; nothing was sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Somebody answered no, or nobody could be asked; nothing was done. */
export class Declined extends Error {
  override readonly name = 'Declined';
}
