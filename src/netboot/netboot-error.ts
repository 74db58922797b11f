/** Says in one line, to a person, what of a configuration can't be. */
export class NetbootError extends Error {
  override readonly name = 'NetbootError';
}
